/** Texts of the list of extensions and of the page of one extension. */
export const extensionsText = {
  tabs: {
    label: (name: string) => `Views of extension ${name}`,
    overview: "Overview",
    objects: "Objects",
    why: "Why this version",
    plan: "Plan",
    permissions: "Permissions",
    history: "History",
    uninstall: "Uninstall",
  },
  header: {
    all: "Extensions",
    notFound: (name: string) => `Extension ${name} does not exist`,
    notFoundNext: "The extension was uninstalled, or the name is wrong.",
    showAll: "Show all extensions",
    package: "Package",
    bundle: "Installed bundle",
    notInstalled: "No bundle is installed",
    namespace: "Namespace",
    update: "Update",
    holds: "Holds",
    attention: "Why the extension needs attention",
    severity: { error: "Not working", warning: "At risk", info: "Waiting" },
  },
} as const;
