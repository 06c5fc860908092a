import type { Locator } from "playwright-core";
import { expect } from "vitest";
import type { TestCluster } from "../support/cluster.ts";
import type { ConsoleWorld } from "../support/consoleWorld.ts";
import type { ConsoleBrowser, ConsolePage } from "./consoleBrowser.ts";
import type { RunningConsole } from "./runningConsole.ts";

/** What tests of the console share: one control plane, one world on it, one console, and one browser. */
export interface TestedConsole {
  readonly cluster: Pick<TestCluster, "auditEvents" | "client" | "programs">;
  readonly world: Pick<ConsoleWorld, "client" | "kubeconfig" | "names" | "registriesConf" | "systemNamespace">;
  readonly console: RunningConsole;
  readonly browser: ConsoleBrowser;
}

/** Returns what the tests share; only while they run. */
export type Tested = () => TestedConsole;

/** How long a page may take to show the result of a change in the cluster. */
const SOON = { timeout: 45_000, interval: 100 };

/** Waits until the main part of a page shows all texts, without a reload. */
export async function expectShown(page: ConsolePage, ...texts: readonly (string | RegExp)[]): Promise<void> {
  for (const text of texts) {
    const shown = expect.poll(() => page.mainText(), SOON);
    await (typeof text === "string" ? shown.toContain(text) : shown.toMatch(text));
  }
}

/** Waits until the main part of a page does not show any of the texts. */
export async function expectHidden(page: ConsolePage, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await expect.poll(() => page.mainText(), SOON).not.toContain(text);
}

/** Returns the text of an element with single spaces. */
export async function readText(locator: Locator): Promise<string> {
  return (await locator.innerText()).replaceAll(/\s+/g, " ").trim();
}
