/** A page, or a part that its children have in common. The component of a page is loaded when the page is opened. */
export interface PageEntry {
  /** Path in the form of react-router, relative to the parent; empty for the parent's own path. */
  readonly path: string;
  /** The module with the component as default export: path in console/src/pages, without extension. */
  readonly module: string;
  readonly children?: readonly PageEntry[];
}

/** The pages that catalogd shows. */
export const CATALOG_PAGES: readonly PageEntry[] = [
  { path: "/packages", module: "packages/PackagesPage" },
  { path: "/packages/:package", module: "packages/PackagePage" },
];

/** All pages of the console. The build also reads this list, so that servers can tell browsers which files the page of a path needs. */
export const CONSOLE_PAGES: readonly PageEntry[] = [
  { path: "/", module: "attention/AttentionPage" },
  { path: "/extensions", module: "extensions/list/ExtensionsPage" },
  {
    path: "/extensions/:name",
    module: "extensions/ExtensionPage",
    children: [
      { path: "", module: "extensions/overview/OverviewTab" },
      { path: "objects", module: "extensions/objects/ObjectsTab" },
      { path: "why", module: "extensions/why/WhyTab" },
      { path: "plan", module: "extensions/plan/PlanTab" },
      { path: "permissions", module: "extensions/permissions/PermissionsTab" },
      { path: "history", module: "extensions/history/HistoryTab" },
      { path: "uninstall", module: "extensions/uninstall/UninstallTab" },
    ],
  },
  { path: "/installation", module: "installation/InstallationPage" },
  { path: "/dependencies", module: "dependencies/DependenciesPage" },
  { path: "/cluster-upgrade", module: "clusterUpgrade/ClusterUpgradePage" },
  {
    path: "",
    module: "packages/ConsolePackagesPage",
    children: [...CATALOG_PAGES, { path: "/packages/:package/install", module: "install/InstallPage" }],
  },
  { path: "/catalogs", module: "catalogs/CatalogsPage" },
  { path: "/catalogs/:name", module: "catalogs/CatalogPage" },
];
