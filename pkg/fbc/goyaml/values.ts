import { YAMLException } from "js-yaml";
import type { CollectionNode, ScalarNode, YamlNode } from "./parser.ts";
import { floatKey, isFloatScalar, resolveScalar } from "./scalarTypes.ts";

/** Up to so many decoded values, nearly all may come from aliases; from the second number on a tenth. Between them the share falls evenly. */
const MANY_VALUES = 400_000;
const MOST_VALUES = 4_000_000;
/** Merge keys may add so many members to a document. */
const MAX_MERGED = 10_000;

/** How values are read. */
export interface ValueOptions {
  /**
   * Integers beyond 2^53 become bigint up to this one, and numbers beyond it. Default: bigint up to 64 bits. 0 for none, as in a Go program that
   * decodes into values without a type.
   */
  maxInteger?: bigint;
  /** Called with the name of each member before it is set. May throw, because members are what costs most. */
  onMember?: ((name: string) => void) | undefined;
}

interface Built {
  readonly value: unknown;
  /** How many values Go decodes for it, those of aliases included. */
  readonly decoded: number;
}

/**
 * Turns nodes into values as sigs.k8s.io/yaml does on the way to JSON: keys become strings, a repeated key keeps its last value, a merge key adds
 * members where it is written. Values behind aliases are shared, not copied.
 * @see https://github.com/yaml/go-yaml/blob/v2.4.3/decode.go and https://github.com/kubernetes-sigs/yaml/blob/v1.6.0/yaml.go
 */
export class ValueBuilder {
  readonly #fail: (reason: string, position: number) => never;
  /** Values that aliases may lead to, and "open" for those that are not complete. */
  readonly #shared = new Map<YamlNode, Built | "open">();
  readonly #maxInteger: bigint | undefined;
  readonly #onMember: ((name: string) => void) | undefined;
  readonly #targets: ReadonlySet<YamlNode>;
  #decoded = 0;
  #aliased = 0;
  #merged = 0;
  #notFinite: { value: string; start: number } | undefined;

  /** @param targets the nodes that aliases lead to. @param fail throws for a value that has no JSON form, with the offset of its node. */
  constructor(
    targets: ReadonlySet<YamlNode>,
    fail: (reason: string, position: number) => never,
    { maxInteger, onMember }: ValueOptions = {},
  ) {
    this.#targets = targets;
    this.#fail = fail;
    this.#maxInteger = maxInteger;
    this.#onMember = onMember;
  }

  /** The value of a document. @throws YAMLException for aliases that contain themselves or add too much, and for what has no JSON form. */
  document(node: YamlNode): unknown {
    const value = this.#value(node);
    // Not when it is met: a later member of the same name may replace it.
    if (this.#notFinite && hasNonFinite(value)) this.#fail(`json: unsupported value: ${this.#notFinite.value}`, this.#notFinite.start);
    return value;
  }

  #value(node: YamlNode): unknown {
    const value = this.#build(node);
    if (typeof value === "number" && !Number.isFinite(value)) this.#notFinite ??= textOf(node);
    const max = this.#maxInteger;
    return typeof value === "bigint" && max !== undefined && (value > max || value < -max - 1n) ? Number(value) : value;
  }

  #build(node: YamlNode): unknown {
    this.#count(1);
    if (node.kind === "alias") return this.#alias(node.target, node.name);
    if (!this.#targets.has(node)) return this.#content(node);
    this.#shared.set(node, "open");
    const before = this.#decoded;
    const value = this.#content(node);
    this.#shared.set(node, { value, decoded: this.#decoded - before + 1 });
    return value;
  }

  #content(node: ScalarNode | CollectionNode): unknown {
    if (node.kind === "scalar") return resolveScalar(node, this.#fail);
    if (node.kind === "mapping") return this.#mapping(node);
    return node.children.map((child) => this.#value(child));
  }

  #alias(target: YamlNode, name: string): unknown {
    const built = this.#shared.get(target);
    if (built === "open") throw new YAMLException(`anchor '${name}' value contains itself`);
    if (!built) return this.#build(target); // a merge list is read from its end, so the anchor may come later
    this.#aliased += built.decoded;
    this.#count(built.decoded);
    return built.value;
  }

  /** Refuses a document that consists mainly of what aliases repeat, by the rule of Go's decoder. */
  #count(values: number): void {
    this.#decoded += values;
    if (this.#aliased > 100 && this.#decoded > 1_000 && this.#aliased / this.#decoded > allowedShare(this.#decoded))
      throw new YAMLException("document contains excessive aliasing");
  }

  #mapping({ children }: CollectionNode): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    for (let at = 0; at < children.length; at += 2) {
      const key = children[at];
      const value = children[at + 1];
      if (!key || !value) break;
      if (isMergeKey(key)) {
        this.#merge(members, value);
        continue;
      }
      const name = this.#key(key);
      this.#onMember?.(name);
      setMember(members, name, this.#value(value));
    }
    return members;
  }

  #key(node: YamlNode): string {
    const key = this.#build(node);
    if (typeof key === "string") return key;
    if (typeof key === "number") return isFloat(node) ? floatKey(key) : String(key);
    if (typeof key === "boolean") return String(key);
    if (typeof key === "bigint" && key < 2n ** 63n) return String(key);
    return this.#fail(typeof key === "object" && key !== null ? "invalid map key" : `unsupported map key: ${String(key)}`, node.start);
  }

  #merge(members: Record<string, unknown>, node: YamlNode): void {
    const isList = node.kind === "sequence";
    // The last one first, since members of earlier ones take precedence.
    const sources = isList ? node.children.toReversed() : [node];
    for (const source of sources) {
      const target = source.kind === "alias" ? source.target : source;
      if (target.kind !== "mapping") this.#fail("map merge requires map or sequence of maps as the value", source.start);
      const value = this.#build(source) as Record<string, unknown>;
      for (const key of Object.keys(value)) {
        if (++this.#merged > MAX_MERGED) throw new YAMLException(`more than ${MAX_MERGED} members merged`);
        setMember(members, key, value[key]);
      }
    }
  }
}

/** Sets a member of any name, `__proto__` included. */
function setMember(members: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(members, key, { value, writable: true, enumerable: true, configurable: true });
  else members[key] = value;
}

function textOf(node: YamlNode): { value: string; start: number } {
  const scalar = node.kind === "alias" ? node.target : node;
  return { value: scalar.kind === "scalar" ? scalar.value : "", start: node.start };
}

/** Looks at a shared value as often as it is shared; only for documents that contain an infinity. */
function hasNonFinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasNonFinite);
}

function isFloat(node: YamlNode): boolean {
  const scalar = node.kind === "alias" ? node.target : node;
  return scalar.kind === "scalar" && isFloatScalar(scalar);
}

function isMergeKey(key: YamlNode): boolean {
  return key.kind === "scalar" && key.value === "<<" && (key.isPlain || key.tag === "tag:yaml.org,2002:merge");
}

function allowedShare(decoded: number): number {
  const beyond = Math.min(Math.max(decoded - MANY_VALUES, 0), MOST_VALUES - MANY_VALUES);
  return 0.99 - 0.89 * (beyond / (MOST_VALUES - MANY_VALUES));
}
