import DefaultTheme from "vitepress/theme";
import { defineComponent, h } from "vue";
import "./style.css";
import { renderMenu, renderNote, useVersions } from "./versions.js";

const Layout = defineComponent(() => {
  const versions = useVersions();
  return () =>
    h(DefaultTheme.Layout, null, {
      "nav-bar-content-after": () => renderMenu(versions),
      "nav-screen-content-after": () => renderMenu(versions),
      "doc-before": () => renderNote(versions),
    });
});

export default { extends: DefaultTheme, Layout };
