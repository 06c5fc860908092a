import { extensionsText } from "../../text/extensions.ts";

/** A tab of the page of an extension. */
export interface ExtensionTab {
  /** Last part of the address, such as `objects`; empty for the first tab. */
  readonly path: string;
  readonly label: string;
}

const { tabs } = extensionsText;

/** All tabs of the page of an extension, in their order. */
export const extensionTabs: readonly ExtensionTab[] = [
  { path: "", label: tabs.overview },
  { path: "objects", label: tabs.objects },
  { path: "why", label: tabs.why },
  { path: "plan", label: tabs.plan },
  { path: "permissions", label: tabs.permissions },
  { path: "history", label: tabs.history },
  { path: "uninstall", label: tabs.uninstall },
];
