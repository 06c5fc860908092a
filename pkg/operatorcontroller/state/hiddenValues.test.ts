import { expect, test } from "vitest";
import { bundleOf } from "../../../test/support/bundleFixture.ts";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildObserved } from "../../../test/support/phases.ts";
import { configMap } from "../../../test/support/releases.ts";
import { TerminalError, wrapError } from "../../errors/errors.ts";
import { HIDDEN, HiddenTexts } from "../../render/redaction.ts";
import { renderBundle } from "../../render/render.ts";
import { createLogger } from "../../telemetry/log.ts";
import { ExtensionCache } from "./extensionCache.ts";
import { createHidingEvents, createHidingLog, findSourcedTexts, hideInError, hideSourced } from "./hiddenValues.ts";

const hidden = new HiddenTexts(["hunter2-hunter2", "7"]);

test("hideInError hides a value in a schema error and its causes, and keeps the types of the errors", () => {
  const bundle = bundleOf({ modes: ["OwnNamespace"] });
  let err: unknown;
  try {
    renderBundle(bundle, { installNamespace: "ns", config: { watchNamespace: "hunter2-hunter2" } });
  } catch (thrown) {
    err = wrapError("error for resolved bundle: ", thrown);
  }
  expect(String(err)).toContain("hunter2");
  hideInError(err, hidden);
  expect(err).toBeInstanceOf(TerminalError);
  const { message, stack, cause } = err as TerminalError;
  expect(message).toContain(`invalid value "${HIDDEN}": must be "ns"`);
  expect([message, stack, (cause as Error).message, (cause as Error).stack].join()).not.toContain("hunter2");
});

test("createHidingLog hides values in all fields, including fields of child loggers", () => {
  const lines: string[] = [];
  const log = createLogger({ component: "t", level: "debug", destination: { write: (line) => lines.push(line) } });
  const step = createHidingLog(log, hidden).child({ step: "s" });
  const err = new Error("got hunter2-hunter2", { cause: new Error("of hunter2-hunter2") });
  step.info({ reason: "hunter2-hunter2!", list: ["hunter2-hunter2"], err, count: 8 }, "message");
  expect(lines.join()).not.toContain("hunter2");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ step: "s", reason: `${HIDDEN}!`, list: [HIDDEN], count: 8, msg: "message" });
});

test("createHidingEvents hides values of the extension in its Events", () => {
  const x = createExtension("x", { packageName: "p" });
  const [events, memory] = [new RecordedEvents(), new ExtensionCache()];
  memory.of(x).hidden = hidden;
  const hiding = createHidingEvents(events, memory);
  hiding.record(x, "Normal", "Installed", "hunter2-hunter2");
  hiding.record(createExtension("other", { packageName: "p" }), "Normal", "Installed", "hunter2-hunter2");
  expect(events.seen).toEqual([`Normal Installed: ${HIDDEN}`, "Normal Installed: hunter2-hunter2"]);
});

test("findSourcedTexts returns the values that objects contain, and hideSourced does not hide names of the extension and its namespaces", () => {
  const x = createExtension("the-extension", { packageName: "the-package" });
  const objects = [{ ...configMap("a", "watched-namespace"), data: { a: "hunter2-hunter2", b: "mere hunter2" }, count: 7 }];
  expect(findSourcedTexts(new HiddenTexts(["hunter2-hunter2", "7", "hunter2", "nowhere"]), objects)).toEqual(["7", "hunter2-hunter2"]);
  const phase = buildObserved(x);
  const { history } = phase.releases;
  const release = { sourced: ["hunter2-hunter2", "watched-namespace", "the-package", "the-extension"], objects };
  phase.releases.history = { ...history, current: [release as unknown as (typeof history.current)[number]] };
  hideSourced(phase);
  expect(phase.hidden.texts).toEqual(["hunter2-hunter2"]);
});
