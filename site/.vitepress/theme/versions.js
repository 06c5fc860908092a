import { useData } from "vitepress";
import { h, onMounted, ref } from "vue";

/** Reads versions.json once. The list is empty until the page is mounted, and in a site of one version. */
export function useVersions() {
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
export function renderMenu({ versions, isShown, link }) {
  const open = ({ target }) => window.location.assign(link(versions.value[target.selectedIndex]));
  if (versions.value.length === 0) return null;
  const options = versions.value.map((version) => h("option", { selected: isShown(version) }, version.name));
  return h("select", { class: "version-menu", "aria-label": "Version", onChange: open }, options);
}

/** Tells readers of another version than the newest release where that is. */
export function renderNote({ versions, isShown, link }) {
  const shown = versions.value.find(isShown);
  const [newest] = versions.value;
  if (shown === undefined || shown === newest) return null;
  const what = shown.name === "main" ? "the next release, which is in development" : `version ${shown.name}`;
  return h("aside", { class: "version-note", "aria-label": "Other versions" }, [
    `This page describes ${what}. `,
    h("a", { href: link(newest) }, `Version ${newest.name} is the newest`),
    ".",
  ]);
}
