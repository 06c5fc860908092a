import DefaultTheme from "vitepress/theme";
import { h } from "vue";
import "./style.css";
import { VersionMenu, VersionNote } from "./versions.js";

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      "nav-bar-content-after": () => h(VersionMenu),
      "nav-screen-content-after": () => h(VersionMenu),
      "doc-before": () => h(VersionNote),
    }),
};
