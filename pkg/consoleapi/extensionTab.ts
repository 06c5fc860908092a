import * as z from "zod/mini";

/** Tabs of the page of an extension that explain a problem. */
export const ExtensionTabName = z.enum(["objects", "why", "plan", "permissions", "history", "uninstall"]);
export type ExtensionTabName = z.infer<typeof ExtensionTabName>;
