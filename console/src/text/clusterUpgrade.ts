/** Texts of the page that shows what blocks an upgrade of OpenShift. */
export const clusterUpgradeText = {
  title: "Cluster upgrade",
  intro:
    "Bundles can declare the newest minor version of OpenShift that they support. An installed bundle blocks the upgrade to a newer one.",
  target: "Target version",
  targetHelp: "Such as 4.20; empty for the next minor version",
  targetHelpPlain: "Such as 4.20, to compare it with the maximum versions that the bundles declare",
  check: "Check",
  remedies: "What lifts it",
  extensions: "Extensions",
  label: "Extensions and the newest version of OpenShift that they support",
  columns: { extension: "Extension", state: "Verdict", maximum: "Maximum", version: "Version", bundle: "Bundle", message: "Reason" },
  none: "No extension is installed.",
  command: "The same on the command line",
  enterTarget: "Enter a version of OpenShift to see the maximum versions that the installed bundles declare.",
} as const;
