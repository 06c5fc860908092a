import type { ExtensionTabName } from "../../consoleapi/extensionTab.ts";

/** By type of a problem or condition, or reason of a condition. */
const TABS: Readonly<Partial<Record<string, ExtensionTabName>>> = {
  AwaitingApproval: "plan",
  BundleNotFound: "why",
  AmbiguousCatalogs: "why",
  BackupRequired: "uninstall",
  BlockedUpdate: "why",
  CRDUpgradeUnsafe: "why",
  ClusterUpgradeBlocked: "why",
  ClusterVersionNotSupported: "why",
  ConversionNeeded: "uninstall",
  Deprecated: "why",
  DriftDetected: "history",
  MissingPermissions: "permissions",
  NotUpgradeable: "why",
  PermissionsDenied: "permissions",
  PermissionsPending: "permissions",
  ProgressDeadlineExceeded: "objects",
  RequiredByOthers: "uninstall",
  RevisionPinned: "history",
  RolledBack: "history",
  RollingOut: "objects",
  Unhealthy: "objects",
  UnsatisfiedDependencies: "why",
  UpgradeWarning: "why",
};

/** Returns the tab of an extension that explains a problem. */
export function findExplainingTab(type: string): ExtensionTabName | undefined {
  return Object.hasOwn(TABS, type) ? TABS[type] : undefined;
}
