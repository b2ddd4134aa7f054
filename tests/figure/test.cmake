# SPDX-License-Identifier: MIT
# Figures: golden cells read back from the picture, text of all scripts, layouts of all sizes, wrong params.
if(TARGET hg_figure)
  set(HG_FIGURE_TEST_LIBRARIES hg_figure hg_base PkgConfig::PANGOCAIRO PkgConfig::CAIRO)
  set(HG_FIGURE_SUPPORT ${CMAKE_CURRENT_LIST_DIR}/figure_support.c)
  hg_add_test(figure_cells SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_figure_cells.c ${HG_FIGURE_SUPPORT}
              LIBRARIES ${HG_FIGURE_TEST_LIBRARIES} LABELS figure)
  hg_add_test(figure_text SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_figure_text.c ${HG_FIGURE_SUPPORT}
              LIBRARIES ${HG_FIGURE_TEST_LIBRARIES} LABELS figure)
  hg_add_test(figure_layout SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_figure_layout.c ${HG_FIGURE_SUPPORT}
              LIBRARIES ${HG_FIGURE_TEST_LIBRARIES} LABELS figure TIMEOUT 120)
  hg_add_test(figure_params SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_figure_params.c ${HG_FIGURE_SUPPORT}
              LIBRARIES ${HG_FIGURE_TEST_LIBRARIES} LABELS figure)

  # A machine whose only fonts are DejaVu's.
  file(GLOB dejavu /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf)
  set(HG_FIGURE_FONTS ${CMAKE_CURRENT_BINARY_DIR}/figure-fonts.conf)
  file(WRITE ${HG_FIGURE_FONTS} "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>\
<dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>${HG_TEST_HOME}/cache/fontconfig</cachedir></fontconfig>\n")
  hg_add_test(figure_fonts SOURCES ${CMAKE_CURRENT_LIST_DIR}/test_figure_fonts.c ${HG_FIGURE_SUPPORT}
              LIBRARIES ${HG_FIGURE_TEST_LIBRARIES} LABELS figure ARGS ${HG_FIGURE_FONTS} ${dejavu})
endif()
