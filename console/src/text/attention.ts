/** Texts of the start page. */
export const attentionText = {
  intro: "What does not work, what is at risk, and what waits for you.",
  allFine: "Everything works",
  allFineBody: (extensions: number, catalogs: number) =>
    `${extensions === 1 ? "1 extension works" : `All ${extensions} extensions work`}, and ${catalogs === 1 ? "1 catalog is served" : `all ${catalogs} catalogs are served`}. Nothing waits for you.`,
  noneYet: "No extensions yet",
  noneYetBody: "Find an operator in the software catalog, and install it.",
  openPackages: "Open the software catalog",
  counts: { error: "not working", warning: "at risk", info: "waiting", fine: "fine" },
  severity: { error: "Not working", warning: "At risk", info: "Waiting" },
  kinds: { extension: "Extension", catalog: "Catalog", installation: "Installation" },
  since: "since",
  list: "Needs attention",
  changes: "What changes next",
  noChanges: "No approval, update or expiry is due.",
  approval: (version: string) => `${version} waits for your approval`,
  update: (version: string) => `can be upgraded to ${version}`,
  blocked: "a newer version is blocked",
  endOfSupport: "is deprecated by its catalog",
  expires: "expires",
  review: "Review the plan",
  why: "Why this version",
} as const;
