import type { EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { scalarTexts } from "../../render/configSources.ts";
import type { HiddenTexts } from "../../render/redaction.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ExtensionCache } from "./extensionCache.ts";
import { hasSpec } from "./extensionSpec.ts";
import type { WithReleases } from "./phases.ts";

const MAX_CAUSES = 20;

/** Hides what the releases that count hold of sources, but for what anybody sees: names of the extension, and where its objects are. */
export function hideSourced({ extension, releases, hidden }: Pick<WithReleases, "extension" | "releases" | "hidden">): void {
  for (const { sourced = [], objects } of releases.history.current) {
    hidden.add(sourced);
    revealNamespaces(hidden, objects);
  }
  if (!hasSpec(extension)) return;
  const { namespace, serviceAccount, source } = extension.spec;
  hidden.reveal(extension.metadata.name, namespace, serviceAccount?.name ?? "", source.catalog?.packageName ?? "");
}

/** Shows the names of the namespaces that objects are in, since anybody sees those: a watch namespace is one. */
export function revealNamespaces(hidden: HiddenTexts, objects: readonly KubeObject[]): void {
  hidden.reveal(...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? [])));
}

/** What of the hidden texts objects hold as values: the part of them that a release has to remember. */
export function sourcedIn(hidden: HiddenTexts, objects: readonly KubeObject[]): string[] {
  const texts = hidden.texts;
  if (texts.length === 0) return [];
  const held = scalarTexts(objects);
  return texts.filter((text) => held.has(text)).sort();
}

/** Rewrites the texts of an error and its causes in place, since the errors themselves decide what becomes of the pass. */
export function hideInError(err: unknown, hidden: HiddenTexts): void {
  let next = err;
  for (let i = 0; i < MAX_CAUSES && next instanceof Error; i++, next = next.cause) {
    next.message = hidden.hide(next.message);
    if (next.stack !== undefined) next.stack = hidden.hide(next.stack);
  }
}

/** `log`, with what is hidden hidden in all fields of its lines, and in those of the loggers that are made from it. */
export function hidingLog(log: Logger, hidden: HiddenTexts): Logger {
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

/** Events with what is hidden of the extension they are about hidden in their messages. */
export function hidingEvents(events: EventSink, memory: Pick<ExtensionCache, "hiddenOf">): EventSink {
  return {
    record: (object, type, reason, message) => events.record(object, type, reason, memory.hiddenOf(object)?.hide(message) ?? message),
  };
}
