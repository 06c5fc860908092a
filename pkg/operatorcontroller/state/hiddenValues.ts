import { getNamespace } from "../../api/clusterExtension.ts";
import type { EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { collectScalarTexts } from "../../render/configSources.ts";
import type { HiddenTexts } from "../../render/redaction.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ExtensionCache } from "./extensionCache.ts";
import { hasSpec } from "./extensionSpec.ts";
import type { WithReleases } from "./phases.ts";

const MAX_CAUSES = 20;

/**
 * Hides values from configuration sources in the current releases, except public values: names in the extension and its
 * namespaces.
 */
export function hideSourced({ extension, releases, hidden }: Pick<WithReleases, "extension" | "releases" | "hidden">): void {
  for (const { sourced = [], objects } of releases.history.current) {
    hidden.add(sourced);
    revealNamespaces(hidden, objects);
  }
  if (!hasSpec(extension)) return;
  const { serviceAccount, source } = extension.spec;
  hidden.reveal(extension.metadata.name, getNamespace(extension), serviceAccount?.name ?? "", source.catalog?.packageName ?? "");
}

/** Stops hiding the namespaces of objects, which are public. A watch namespace may come from a source. */
export function revealNamespaces(hidden: HiddenTexts, objects: readonly KubeObject[]): void {
  hidden.reveal(...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? [])));
}

/** Returns the hidden values that objects contain. The release must record them. */
export function findSourcedTexts(hidden: HiddenTexts, objects: readonly KubeObject[]): string[] {
  const texts = hidden.texts;
  if (texts.length === 0) return [];
  const values = collectScalarTexts(objects);
  return texts.filter((text) => values.has(text)).sort();
}

/**
 * Hides values in the message and stack of an error and its causes. Changes the errors in place, because the reconcile
 * depends on their identity and type.
 */
export function hideInError(err: unknown, hidden: HiddenTexts): void {
  let next = err;
  for (let i = 0; i < MAX_CAUSES && next instanceof Error; i++, next = next.cause) {
    next.message = hidden.hide(next.message);
    if (next.stack !== undefined) next.stack = hidden.hide(next.stack);
  }
}

/** Returns a logger that hides values in all fields, also in those of its child loggers. */
export function createHidingLog(log: Logger, hidden: HiddenTexts): Logger {
  const hiddenIn = (value: unknown): unknown => {
    if (!(value instanceof Error)) return hidden.hideIn(value);
    hideInError(value, hidden);
    return value;
  };
  return log.child(
    {},
    {
      formatters: {
        log: (fields) =>
          hidden.isEmpty ? fields : Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, hiddenIn(value)])),
      },
    },
  );
}

/** Returns an EventSink that hides the extension's values in messages. */
export function createHidingEvents(events: EventSink, memory: Pick<ExtensionCache, "hiddenOf">): EventSink {
  return {
    record: (object, type, reason, message) => events.record(object, type, reason, memory.hiddenOf(object)?.hide(message) ?? message),
  };
}
