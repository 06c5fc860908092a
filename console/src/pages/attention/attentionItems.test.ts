import { expect, test } from "vitest";
import type { Attention, CatalogRow, ExtensionRow } from "../../../../pkg/consoleapi/live.ts";
import { countAttention, listAttention, listDueChanges } from "./attentionItems.ts";

function extension(name: string, change: Partial<ExtensionRow> = {}): ExtensionRow {
  return {
    name,
    uid: name,
    resourceVersion: "1",
    package: name,
    namespace: "",
    serviceAccount: "",
    channels: [],
    approval: "Automatic",
    state: { text: "Ready" },
    update: { text: "" },
    hasUpdate: false,
    deprecated: false,
    holds: [],
    problems: [],
    ...change,
  };
}

function attention(severity: Attention["severity"]): Pick<ExtensionRow, "attention"> {
  return { attention: { severity, sentence: "", next: [] } };
}

test("listAttention lists the most severe first, then the newest, and no fine objects", () => {
  const extensions = [
    extension("fine"),
    extension("waits", attention("info")),
    extension("old", { ...attention("error"), changed: "2026-01-01T00:00:00Z" }),
    extension("new", { ...attention("error"), changed: "2026-02-01T00:00:00Z" }),
  ];
  const catalog: CatalogRow = {
    name: "c",
    uid: "c",
    resourceVersion: "1",
    state: { text: "serving" },
    image: "",
    priority: 0,
    labels: {},
    findings: 1,
    attention: { severity: "warning", sentence: "", next: [] },
  };
  const items = listAttention(extensions, [catalog]);
  expect(items.map(({ name }) => name)).toEqual(["new", "old", "c", "waits"]);
  expect(countAttention(items, 5)).toEqual({ error: 2, warning: 1, info: 1, fine: 1 });
});

test("listDueChanges lists approvals before updates before deprecations", () => {
  const update = { hasUpdate: true, update: { text: "2.0.0" } };
  const rows = [
    extension("ends", { deprecated: true }),
    extension("updates", update),
    extension("approval", { ...update, pendingPlan: "sha256:1" }),
  ];
  expect(listDueChanges(rows).map(({ name, kind }) => `${name} ${kind}`)).toEqual([
    "approval approval",
    "updates update",
    "ends endOfSupport",
  ]);
});
