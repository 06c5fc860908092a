import { Scanner, type Token } from "./yamlScanner.ts";

/** A value in YAML source text. `start` is the offset of its first character, tag or anchor. `tag` is empty if there is none. */
export type YamlNode = ScalarNode | CollectionNode | AliasNode;

/** A text, with its tag. */
export interface ScalarNode {
  readonly kind: "scalar";
  readonly start: number;
  readonly tag: string;
  readonly value: string;
  /** Whether the scalar is not quoted, so that its text determines the type. */
  readonly isPlain: boolean;
}

/** A sequence or a mapping. */
export interface CollectionNode {
  readonly kind: "sequence" | "mapping";
  readonly start: number;
  /** The elements of a sequence, or alternating keys and values of a mapping. */
  readonly children: readonly YamlNode[];
}

/** A reference to the node with an anchor. */
export interface AliasNode {
  readonly kind: "alias";
  readonly start: number;
  readonly name: string;
  readonly target: YamlNode;
}

interface Properties {
  start: number;
  tag: string;
  anchor: string | undefined;
}

const DEFAULT_TAGS: readonly (readonly [string, string])[] = [
  ["!", "!"],
  ["!!", "tag:yaml.org,2002:"],
];
/** Tokens that cannot begin the value of a key or an element. */
const ENDS_ENTRY: ReadonlySet<Token["type"]> = new Set(["?", ":", "-", "block end"]);
const ENDS_DOCUMENT: ReadonlySet<Token["type"]> = new Set(["directive", "document start", "document end", "stream end"]);

/**
 * Parses the documents of a YAML text one after another, as libyaml does.
 * @see https://github.com/yaml/go-yaml/blob/v2.4.3/parserc.go
 */
export class Parser {
  readonly #scanner: Scanner;
  #tags = new Map<string, string>();
  #anchors = new Map<string, YamlNode>();
  #isFirst = true;
  #targets = new Set<YamlNode>();

  /** @param maxDepth levels of nesting. @throws YAMLException for a character that YAML does not allow. */
  constructor(text: string, maxDepth: number) {
    this.#scanner = new Scanner(text, maxDepth);
  }

  /** The nodes that aliases of the current document refer to. */
  get targets(): ReadonlySet<YamlNode> {
    return this.#targets;
  }

  /** Returns the value of the next document; undefined after the last one. @throws YAMLException with line and column */
  next(): YamlNode | undefined {
    if (!this.#isFirst) while (this.#is("document end")) this.#scanner.take();
    this.#anchors = new Map();
    this.#targets = new Set();
    if (this.#is("stream end")) return undefined;
    const isImplicit = this.#isFirst && !this.#is("directive") && !this.#is("document start");
    this.#isFirst = false;
    this.#tags = this.#directives();
    if (!isImplicit) {
      if (!this.#is("document start")) this.#fail("did not find expected <document start>");
      this.#scanner.take();
    }
    const isEmpty = !isImplicit && ENDS_DOCUMENT.has(this.#peek().type);
    const node = isEmpty ? this.#empty() : this.#node(true, false);
    if (this.#is("document end")) this.#scanner.take();
    return node;
  }

  #peek(): Token {
    return this.#scanner.peek();
  }

  #is(type: Token["type"]): boolean {
    return this.#scanner.peek().type === type;
  }

  #fail(reason: string): never {
    return this.#scanner.fail(reason, this.#peek().start);
  }

  #directives(): Map<string, string> {
    const tags = new Map<string, string>();
    let hasVersion = false;
    for (let token = this.#peek(); token.type === "directive"; token = this.#peek()) {
      const { directive } = token;
      if (directive.kind === "version") {
        if (hasVersion) this.#fail("found duplicate %YAML directive");
        if (directive.version !== "1.1") this.#fail("found incompatible YAML document");
        hasVersion = true;
      } else {
        if (tags.has(directive.handle)) this.#fail("found duplicate %TAG directive");
        tags.set(directive.handle, directive.prefix);
      }
      this.#scanner.take();
    }
    for (const [handle, prefix] of DEFAULT_TAGS) if (!tags.has(handle)) tags.set(handle, prefix);
    return tags;
  }

  /** @param isBlock whether a block collection may begin here. @param mayBeIndentless whether elements may begin at the column of their key. */
  #node(isBlock: boolean, mayBeIndentless: boolean): YamlNode {
    const first = this.#peek();
    if (first.type === "alias") return this.#alias(first);
    const properties = this.#properties(first.start);
    const token = this.#peek();
    const { type } = token;
    if (type === "scalar") return this.#scalar(token, properties);
    if (type === "[") return this.#collection("sequence", properties, (children) => this.#flowSequence(children));
    if (type === "{") return this.#collection("mapping", properties, (children) => this.#flowMapping(children));
    if (type === "-" && mayBeIndentless) return this.#collection("sequence", properties, (children) => this.#indentlessSequence(children));
    if (type === "block sequence start" && isBlock)
      return this.#collection("sequence", properties, (children) => this.#blockSequence(children));
    if (type === "block mapping start" && isBlock)
      return this.#collection("mapping", properties, (children) => this.#blockMapping(children));
    if (properties.anchor === undefined && properties.tag === "") this.#fail("did not find expected node content");
    return this.#anchored(
      { kind: "scalar", start: properties.start, tag: properties.tag, value: "", isPlain: properties.tag === "" },
      properties,
    );
  }

  #alias(token: Token & { type: "anchor" | "alias" }): AliasNode {
    const { start, name } = token;
    const target = this.#anchors.get(name) ?? this.#fail(`unknown anchor '${name}' referenced`);
    this.#targets.add(target);
    this.#scanner.take();
    return { kind: "alias", start, name, target };
  }

  #properties(start: number): Properties {
    const properties: Properties = { start, tag: "", anchor: undefined };
    let hasTag = false;
    for (;;) {
      const token = this.#peek();
      if (token.type === "anchor" && properties.anchor === undefined) properties.anchor = token.name;
      else if (token.type === "tag" && !hasTag) {
        const { handle, suffix } = token.tag;
        const prefix = handle === "" ? "" : (this.#tags.get(handle) ?? this.#fail("found undefined tag handle"));
        properties.tag = prefix + suffix;
        hasTag = true;
      } else return properties;
      this.#scanner.take();
    }
  }

  #scalar(token: Token & { type: "scalar" }, properties: Properties): YamlNode {
    this.#scanner.take();
    const { tag } = properties;
    const isPlain = tag === "!" || (tag === "" && token.isPlain);
    return this.#anchored({ kind: "scalar", start: properties.start, tag, value: token.value, isPlain }, properties);
  }

  #collection(kind: "sequence" | "mapping", properties: Properties, read: (children: YamlNode[]) => void): YamlNode {
    const children: YamlNode[] = [];
    const node = this.#anchored({ kind, start: properties.start, children }, properties);
    read(children);
    return node;
  }

  #anchored<T extends YamlNode>(node: T, { anchor }: Properties): T {
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    return node;
  }

  #empty(): ScalarNode {
    return { kind: "scalar", start: this.#peek().start, tag: "", value: "", isPlain: true };
  }

  #blockSequence(children: YamlNode[]): void {
    this.#scanner.take();
    while (this.#is("-")) {
      this.#scanner.take();
      children.push(this.#is("-") || this.#is("block end") ? this.#empty() : this.#node(true, false));
    }
    if (!this.#is("block end")) this.#fail("did not find expected '-' indicator");
    this.#scanner.take();
  }

  #indentlessSequence(children: YamlNode[]): void {
    while (this.#is("-")) {
      this.#scanner.take();
      children.push(ENDS_ENTRY.has(this.#peek().type) ? this.#empty() : this.#node(true, false));
    }
  }

  #blockMapping(children: YamlNode[]): void {
    this.#scanner.take();
    for (;;) {
      if (this.#is("block end")) break;
      if (!this.#is("?")) this.#fail("did not find expected key");
      this.#scanner.take();
      children.push(this.#blockEntry(), this.#is(":") ? this.#blockValue() : this.#empty());
    }
    this.#scanner.take();
  }

  #blockValue(): YamlNode {
    this.#scanner.take();
    return this.#blockEntry();
  }

  /** A key or value of a block mapping, after its "?" or ":". */
  #blockEntry(): YamlNode {
    const { type } = this.#peek();
    return type === "?" || type === ":" || type === "block end" ? this.#empty() : this.#node(true, true);
  }

  #flowSequence(children: YamlNode[]): void {
    this.#scanner.take();
    while (!this.#is("]")) {
      if (children.length > 0) {
        if (!this.#is(",")) this.#fail("did not find expected ',' or ']'");
        this.#scanner.take();
        if (this.#is("]")) break;
      }
      children.push(this.#is("?") ? this.#flowPair() : this.#node(false, false));
    }
    this.#scanner.take();
  }

  /** A mapping with one key inside a flow sequence, as in `[a: b]`. */
  #flowPair(): YamlNode {
    const { start } = this.#scanner.take();
    const { type } = this.#peek();
    const hasKey = type !== ":" && type !== "," && type !== "]";
    const key = hasKey ? this.#node(false, false) : this.#empty();
    if (!hasKey) this.#scanner.take(); // as in libyaml; as a consequence, most pairs without a key are an error
    return { kind: "mapping", start, children: [key, this.#flowValue("]")] };
  }

  #flowMapping(children: YamlNode[]): void {
    this.#scanner.take();
    while (!this.#is("}")) {
      if (children.length > 0) {
        if (!this.#is(",")) this.#fail("did not find expected ',' or '}'");
        this.#scanner.take();
        if (this.#is("}")) break;
      }
      if (this.#is("?")) {
        this.#scanner.take();
        const { type } = this.#peek();
        const isEmpty = type === ":" || type === "," || type === "}";
        children.push(isEmpty ? this.#empty() : this.#node(false, false), this.#flowValue("}"));
      } else children.push(this.#node(false, false), this.#empty());
    }
    this.#scanner.take();
  }

  #flowValue(end: "]" | "}"): YamlNode {
    if (!this.#is(":")) return this.#empty();
    this.#scanner.take();
    const { type } = this.#peek();
    return type === "," || type === end ? this.#empty() : this.#node(false, false);
  }
}
