/** Texts of the page that shows who needs whom. */
export const dependenciesText = {
  title: "Dependencies",
  intro: "Requirements of installed bundles, and what meets them. The arrows point from an extension to what it needs.",
  none: "No extension needs another one",
  noneBody: "No installed bundle declares a requirement, and no dependency plan is in progress.",
  independent: (count: number) =>
    count === 1 ? "1 other extension has no dependencies." : `${count} other extensions have no dependencies.`,
  unknown: "Unknown",
  graph: {
    title: "Graph",
    label: "Extensions and what they need",
    legend: { met: "met", unmet: "not met", planned: "planned" },
    needs: (label: string, requirements: string) => `${label} needs ${requirements}`,
    undrawn: "There are too many dependencies to draw. The list below has them.",
  },
  requirements: {
    title: "Requirements",
    label: "Requirements of bundles",
    extension: "Extension",
    text: "Requirement",
    state: "State",
    providers: "Met by",
    why: "Why not",
    none: "There are no requirements.",
  },
  plans: {
    title: "Plans in progress",
    progress: (extension: string, installed: number, all: number) => `${extension}: ${installed} of ${all} bundles installed`,
    label: (extension: string) => `Progress of the plan of ${extension}`,
    wave: (wave: number) => `Wave ${wave}`,
    for: "for",
  },
  blockers: {
    title: "What delays an uninstall",
    waiting: "Uninstall waits",
    needed: "Needed",
    by: (extension: string) => `${extension} needs`,
  },
} as const;
