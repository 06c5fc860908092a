import { lazy, type ReactElement } from "react";
import { extensionsText } from "../../text/extensions.ts";

const OverviewTab = lazy(() => import("./overview/OverviewTab.tsx"));
const PlanTab = lazy(() => import("./plan/PlanTab.tsx"));
const PermissionsTab = lazy(() => import("./permissions/PermissionsTab.tsx"));
const HistoryTab = lazy(() => import("./history/HistoryTab.tsx"));
const UninstallTab = lazy(() => import("./uninstall/UninstallTab.tsx"));
const ObjectsTab = lazy(() => import("./objects/ObjectsTab.tsx"));
const WhyTab = lazy(() => import("./why/WhyTab.tsx"));

/** A tab of the page of an extension. */
export interface ExtensionTab {
  /** Last part of the address, such as `objects`; empty for the first tab. */
  readonly path: string;
  readonly label: string;
  /** A component that is loaded when the tab is opened. It reads the name of the extension with `useExtensionName()`. */
  readonly element: ReactElement;
  /** Position among the tabs, in ascending order. */
  readonly order: number;
}

const unordered: readonly ExtensionTab[] = [
  { path: "", label: extensionsText.tabs.overview, element: <OverviewTab />, order: 10 },
  { path: "objects", label: extensionsText.tabs.objects, element: <ObjectsTab />, order: 20 },
  { path: "why", label: extensionsText.tabs.why, element: <WhyTab />, order: 30 },
  { path: "plan", label: extensionsText.tabs.plan, element: <PlanTab />, order: 40 },
  { path: "permissions", label: extensionsText.tabs.permissions, element: <PermissionsTab />, order: 50 },
  { path: "history", label: extensionsText.tabs.history, element: <HistoryTab />, order: 60 },
  { path: "uninstall", label: extensionsText.tabs.uninstall, element: <UninstallTab />, order: 70 },
];

/** All tabs of the page of an extension, in their order. */
export const extensionTabs: readonly ExtensionTab[] = unordered.toSorted((one, other) => one.order - other.order);
