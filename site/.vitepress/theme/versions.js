import { useData } from "vitepress";
import { defineComponent, h, onMounted, ref } from "vue";

/** Returns the versions of versions.json, and the folder of this page. Both are empty until the page is mounted, and in a site of one version. */
function useVersions() {
  const { site, theme } = useData();
  const versions = ref([]);
  onMounted(async () => {
    if (theme.value.versionsRoot === undefined) return;
    const response = await fetch(`${theme.value.versionsRoot}versions.json`);
    if (response.ok) versions.value = await response.json();
  });
  return {
    versions,
    isShown: ({ folder }) => site.value.base.endsWith(`/${folder}/`),
    link: ({ folder }) => `${theme.value.versionsRoot}${folder}/`,
  };
}

/** A menu that opens another version of the documentation. */
export const VersionMenu = defineComponent(() => {
  const { versions, isShown, link } = useVersions();
  const open = ({ target }) => window.location.assign(link(versions.value[target.selectedIndex]));
  return () =>
    versions.value.length === 0
      ? null
      : h(
          "select",
          { class: "version-menu", "aria-label": "Version", onChange: open },
          versions.value.map((version) => h("option", { selected: isShown(version) }, version.name)),
        );
});

/** Tells readers of another version than the newest release where that is. */
export const VersionNote = defineComponent(() => {
  const { versions, isShown, link } = useVersions();
  return () => {
    const shown = versions.value.find(isShown);
    const [newest] = versions.value;
    if (shown === undefined || shown === newest) return null;
    const what = shown.name === "main" ? "the next release, which is in development" : `version ${shown.name}`;
    return h("aside", { class: "version-note", "aria-label": "Other versions" }, [
      `This page describes ${what}. `,
      h("a", { href: link(newest) }, `Version ${newest.name} is the newest`),
      ".",
    ]);
  };
});
