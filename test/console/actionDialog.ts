import type { Locator } from "playwright-core";
import { expect } from "vitest";
import type { AuditEvent } from "../support/cluster.ts";
import type { ConsolePage } from "./consoleBrowser.ts";
import { readText, type TestedConsole } from "./testedConsole.ts";

/** A request as a dialog shows it. */
interface ShownRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** The body as sent; empty if the request has no body. */
  readonly body: string;
}

/** What a dialog said before the user confirmed. */
export interface ShownChange {
  readonly title: string;
  readonly text: string;
  readonly requests: readonly ShownRequest[];
}

/** How to confirm a change. */
interface Confirmation {
  /** Label of the button that confirms. */
  readonly confirm: string;
  /** Whether to take over fields that other tools manage. */
  readonly overwrite?: boolean;
  /** Text to type, for a change that deletes data. */
  readonly typed?: string;
  /** Label of a wider change to choose. */
  readonly choice?: string;
}

/** Returns the cluster whose audit log has the requests. */
type TestedCluster = () => Pick<TestedConsole, "cluster">;

const METHODS: Readonly<Record<string, string>> = { create: "POST", update: "PUT", patch: "PATCH", delete: "DELETE" };
const OPENED_MS = 60_000;

/** Opens the dialog of a change and waits until the change was tried. */
async function openChange(
  { page }: ConsolePage,
  button: Locator,
  { overwrite = false, choice }: Confirmation,
): Promise<{ dialog: Locator; change: ShownChange }> {
  await button.click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("heading", { name: "What happens" }).waitFor({ timeout: OPENED_MS });
  if (choice !== undefined) {
    await dialog.getByRole("checkbox", { name: choice }).click();
    const chosen = dialog.getByRole("checkbox", { name: choice, checked: true });
    await chosen.and(dialog.locator(":focus")).waitFor({ timeout: OPENED_MS });
  }
  if (overwrite) {
    await dialog.getByRole("button", { name: "Take over these fields" }).click();
    await dialog.getByText("Takes over the fields in the YAML from other tools.").waitFor({ timeout: OPENED_MS });
  }
  await dialog.getByRole("button", { name: /^\d+ requests? to the API server$/ }).click();
  await dialog.getByRole("button", { name: "As sent" }).click();
  const bodies = await dialog.getByRole("region", { name: /^Body: / }).allInnerTexts();
  const title = await readText(dialog.getByRole("heading", { level: 1 }));
  return { dialog, change: { title, text: await readText(dialog), requests: bodies.map(parseRequest) } };
}

/** Makes a change with its dialog. Checks that exactly the requests of the dialog were sent, in their order. */
export async function makeChange(
  tested: TestedCluster,
  page: ConsolePage,
  button: Locator,
  confirmation: Confirmation,
): Promise<ShownChange> {
  const { confirm, typed } = confirmation;
  const { dialog, change } = await openChange(page, button, confirmation);
  // The dry run of a deletion is not recognizable in the audit log.
  const before = (await listWrites(tested)).length;
  expect(change.requests.length).toBeGreaterThan(0);
  const confirming = dialog.getByRole("button", { name: confirm, exact: true });
  if (typed !== undefined) {
    expect(await confirming.isDisabled(), "the change can be confirmed without the typed name").toBe(true);
    await dialog.getByRole("textbox").fill(typed);
  }
  await confirming.click();
  await dialog.getByText("The change was sent").waitFor({ timeout: OPENED_MS });
  await dialog.locator("footer").getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  const sent = (await listWrites(tested)).slice(before);
  expect(sent).toEqual(change.requests.map(({ method, path }) => `${method} ${path}`));
  return change;
}

function parseRequest(text: string): ShownRequest {
  const [head = "", ...rest] = text.split("\n\n");
  const [method = "", path = ""] = head.split(/\s+/);
  return { method, path, body: rest.join("\n\n").trim() };
}

/** Lists the requests of consoles that changed the cluster, oldest first: no reads, no dry runs, no questions about permissions. */
export async function listWrites(tested: TestedCluster): Promise<string[]> {
  const events = await tested().cluster.auditEvents();
  return events.filter(isWrite).map(({ verb, requestURI }) => `${METHODS[verb]} ${requestURI}`);
}

function isWrite({ userAgent, verb, requestURI, objectRef }: AuditEvent): boolean {
  const isQuestion = objectRef?.apiGroup === "authorization.k8s.io" || objectRef?.apiGroup === "authentication.k8s.io";
  return userAgent?.startsWith("olmv1-ui") === true && verb in METHODS && !requestURI.includes("dryRun=") && !isQuestion;
}
