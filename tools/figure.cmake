# SPDX-License-Identifier: MIT
# hg_raster (colour maps, PNG with text chunks) needs libpng; hg_figure (figures as PNG, SVG, PDF) cairo and pango.
# Both in hg_figure; a build without cairo (HG_FIGURES off) has hg_raster alone.
option(HG_FIGURES "build the figures (cairo, pango)" ON)

pkg_check_modules(LIBPNG REQUIRED IMPORTED_TARGET GLOBAL libpng)
add_library(hg_raster STATIC colormap.c png_writer.c)
target_include_directories(hg_raster PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/engine/include
                                     PRIVATE ${PROJECT_SOURCE_DIR}/engine)
target_link_libraries(hg_raster PUBLIC PkgConfig::LIBPNG m)

if(HG_FIGURES)
  pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET GLOBAL cairo>=1.16 cairo-pdf cairo-svg)
  pkg_check_modules(PANGOCAIRO REQUIRED IMPORTED_TARGET GLOBAL pangocairo>=1.44)
  add_library(hg_figure STATIC figure.c figure_axis.c figure_draw.c figure_layout.c figure_legend.c figure_map.c
                               figure_svg.c figure_text.c)
  target_include_directories(hg_figure PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/engine/include
                                       PRIVATE ${PROJECT_SOURCE_DIR}/engine)
  target_link_libraries(hg_figure PUBLIC hg_raster PRIVATE PkgConfig::PANGOCAIRO PkgConfig::CAIRO)
endif()
