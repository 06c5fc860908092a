import { ANNOTATION_PROPERTIES, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../../api/constants.ts";
import { messageOf } from "../../errors/errors.ts";
import { MAX_OPENSHIFT_VERSION } from "../../bundle/maxOpenShiftVersion.ts";
import { parseProperties } from "../../bundle/rawProperties.ts";
import { type ProvidedBundle, providedBundle } from "../../release/providedBundle.ts";
import type { ReleaseRecord } from "../../release/record.ts";

/** What a release may state at most; a maximum takes some dozens of characters. */
const MAX_PROPERTIES = 16_384;

/** What of a release is kept in mind: what decides about cluster upgrades, and what others may depend on. */
export interface ReleaseFacts {
  readonly bundle: string;
  readonly version: string;
  /** Annotation olm.properties with nothing but what decides about cluster upgrades; undefined when there is none. */
  readonly properties: string | undefined;
  readonly provided: ProvidedBundle;
}

/** The part of a release that the gate reads. */
export type NotedRelease = Pick<ReleaseRecord, "labels" | "annotations" | "properties" | "objects">;

/**
 * The facts of a release.
 * @throws Error when its properties neither decode nor are short enough to be shown as they are.
 */
export function releaseFacts(release: NotedRelease): ReleaseFacts {
  const { labels, annotations } = release;
  const properties = annotations[ANNOTATION_PROPERTIES];
  return {
    bundle: labels[LABEL_BUNDLE_NAME] ?? "",
    version: labels[LABEL_BUNDLE_VERSION] ?? "",
    properties: properties === undefined ? undefined : decisiveProperties(properties),
    provided: providedBundle(release),
  };
}

/** The properties that count, two at most: the second is wrong already. A text that does not decode stays, for the error that it gives. */
function decisiveProperties(text: string): string {
  let kept: string;
  try {
    const stated = parseProperties(text).filter(({ type }) => type === MAX_OPENSHIFT_VERSION);
    const members = stated.slice(0, 2).map(({ value }) => `{"type":"${MAX_OPENSHIFT_VERSION}"${value === "" ? "" : `,"value":${value}`}}`);
    kept = `[${members.join(",")}]`;
  } catch (err) {
    if (text.length > MAX_PROPERTIES)
      throw new Error(`annotation ${ANNOTATION_PROPERTIES} does not decode: ${messageOf(err)}`, { cause: err });
    return text;
  }
  if (kept.length > MAX_PROPERTIES)
    throw new Error(`annotation ${ANNOTATION_PROPERTIES} states ${MAX_OPENSHIFT_VERSION} with ${kept.length} characters`);
  return Buffer.from(kept).toString(); // a copy: a part of a text keeps the whole of it in memory
}

/** Facts by the Secret that holds the release and its resourceVersion: who has written or read a release shares what it knows. */
export class ReleaseFactsCache {
  readonly #maxEntries: number;
  /** In the order of their last change, so that what nobody forgets goes first. */
  readonly #known = new Map<string, { resourceVersion: string; facts: ReleaseFacts }>();
  readonly #handlers: ((uid: string) => void)[] = [];

  /** @param maxEntries more Secrets than there are releases on any cluster. */
  constructor(maxEntries = 20_000) {
    this.#maxEntries = maxEntries;
  }

  /** Calls `handler` with the uid of a Secret whenever something new is known of it. */
  onChange(handler: (uid: string) => void): void {
    this.#handlers.push(handler);
  }

  /** Takes note of a release as it stands in a Secret. */
  note({ uid, resourceVersion }: SecretVersion, record: NotedRelease): void {
    if (uid === undefined || resourceVersion === undefined || this.#known.get(uid)?.resourceVersion === resourceVersion) return;
    let facts: ReleaseFacts;
    try {
      facts = releaseFacts(record);
    } catch {
      return; // whoever asks reads it for himself, and is told what is wrong
    }
    this.#known.delete(uid);
    this.#known.set(uid, { resourceVersion, facts });
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#maxEntries && oldest !== undefined) this.#known.delete(oldest);
    for (const handler of this.#handlers) handler(uid);
  }

  /** The facts of that version of a Secret, if anybody has seen it. */
  get({ uid, resourceVersion }: SecretVersion): ReleaseFacts | undefined {
    const known = uid === undefined ? undefined : this.#known.get(uid);
    return known?.resourceVersion === resourceVersion ? known?.facts : undefined;
  }

  /** Drops what is known of a Secret that is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

/** One version of one Secret. */
export interface SecretVersion {
  readonly uid?: string;
  readonly resourceVersion?: string;
}
