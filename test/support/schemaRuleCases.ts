/**
 * A value under a schema with CEL rules. `valid` and `invalid` are the verdicts of the API server when it creates an object with the value; the
 * integration test compares them. An `unchecked` value is `invalid` for the API server.
 */
export interface SchemaRuleCase {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly valid?: readonly unknown[];
  readonly invalid?: readonly unknown[];
  readonly unchecked?: readonly unknown[];
  /** The first minor version of Kubernetes 1 whose API server accepts the schema; by default all. */
  readonly since?: number;
}

const text = { type: "string", maxLength: 64 };
const integer = { type: "integer" };
const ruled = (schema: object, ...rules: string[]): Record<string, unknown> => ({
  ...schema,
  "x-kubernetes-validations": rules.map((rule) => ({ rule, message: `must hold: ${rule}`.slice(0, 100) })),
});
const object = (properties: object, ...rules: string[]): Record<string, unknown> => ruled({ type: "object", properties }, ...rules);
const list = (items: object, ...rules: string[]): Record<string, unknown> => ruled({ type: "array", maxItems: 8, items }, ...rules);
const textCase = (rule: string, valid: readonly string[], invalid: readonly string[] = []): SchemaRuleCase => ({
  name: rule,
  schema: ruled(text, rule),
  valid,
  invalid,
});

/** Rules of real CRDs, and rules for each kind of value and function. */
export const SCHEMA_RULE_CASES: readonly SchemaRuleCase[] = [
  {
    name: "members of an object",
    schema: object({ min: integer, max: integer }, "self.min <= self.max"),
    valid: [{ min: 1, max: 2 }],
    invalid: [{ min: 2, max: 1 }, { min: 2 }],
  },
  {
    name: "optional members",
    schema: object({ a: text, b: text }, "has(self.a) != has(self.b)"),
    valid: [{ a: "x" }, { b: "x" }],
    invalid: [{}, { a: "x", b: "x" }],
  },
  {
    name: "a decided operand of ||",
    schema: object({ a: text, b: integer }, "!has(self.a) || self.b > 1"),
    valid: [{}, { a: "x", b: 2 }],
    invalid: [{ a: "x" }, { a: "x", b: 1 }],
  },
  {
    name: "defaults of the new schema",
    schema: object({ mode: { ...text, default: "on" }, size: integer }, "self.mode == 'on' || has(self.size)"),
    valid: [{}, { mode: "off", size: 1 }],
    invalid: [{ mode: "off" }],
  },
  {
    name: "null",
    schema: object({ a: { ...text, nullable: true }, b: text }, "!has(self.b)", "!has(self.a) || dyn(self.a) == null"),
    valid: [{ a: null }, { b: null }, {}],
    invalid: [{ a: "x" }, { b: "x" }],
  },
  {
    name: "integers and numbers",
    schema: object({ i: integer, n: { type: "number" } }, "self.i % 2 == 0", "self.n < 1.5", "double(self.i) > self.n"),
    valid: [
      { i: 2, n: 1 },
      { i: 4, n: -0.5 },
    ],
    invalid: [
      { i: 3, n: 1 },
      { i: 2, n: 1.5 },
    ],
  },
  {
    name: "a division by zero",
    schema: object({ i: integer }, "10 / self.i > 1"),
    valid: [{ i: 2 }],
    invalid: [{ i: 0 }],
  },
  {
    name: "an integer or a text",
    schema: ruled({ "x-kubernetes-int-or-string": true }, "type(self) == string ? self == '50%' : self == 80"),
    valid: [80, "50%"],
    invalid: [81, "80"],
  },
  {
    name: "lists",
    schema: list(
      text,
      "self.all(x, x.startsWith('a'))",
      "self.exists(x, x == 'a')",
      "size(self) < 3 || self[2] == 'a2'",
      "'z' in self == false",
    ),
    valid: [["a"], ["a", "ab", "a2"]],
    invalid: [[], ["ab"], ["a", "b"], ["a", "a", "a"]],
  },
  {
    name: "exists_one, filter and map",
    schema: list(integer, "self.exists_one(x, x == 1)", "self.filter(x, x > 1).map(x, x * 2).all(x, x < 10)"),
    valid: [[1], [1, 4]],
    invalid: [[], [1, 1], [1, 5]],
  },
  {
    name: "functions of lists",
    schema: list(integer, "self.isSorted()", "self.sum() < 10", "self.min() >= 0 && self.max() <= 5", "self.indexOf(3) == -1"),
    valid: [[0, 1, 5]],
    invalid: [[1, 0], [5, 5], [-1, 2], [3]],
  },
  {
    name: "lists of type set",
    schema: object(
      { a: { ...list(text), "x-kubernetes-list-type": "set" }, b: { ...list(text), "x-kubernetes-list-type": "set" } },
      "self.a == self.b",
    ),
    valid: [{ a: ["x", "y"], b: ["y", "x"] }],
    invalid: [{ a: ["x"], b: ["y"] }],
  },
  {
    name: "lists of type map",
    schema: list(
      {
        ...list({ type: "object", required: ["k"], properties: { k: text, v: integer } }),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
      "self[0] == self[1]",
    ),
    valid: [
      [
        [{ k: "x", v: 1 }, { k: "y" }],
        [{ k: "y" }, { k: "x", v: 1 }],
      ],
    ],
    invalid: [[[{ k: "x", v: 1 }], [{ k: "x", v: 2 }]]],
  },
  {
    name: "lists whose order counts",
    schema: object({ a: list(text), b: list(text) }, "self.a == self.b"),
    valid: [{ a: ["x", "y"], b: ["x", "y"] }],
    invalid: [{ a: ["x", "y"], b: ["y", "x"] }],
  },
  {
    name: "maps",
    schema: ruled(
      { type: "object", maxProperties: 8, additionalProperties: integer },
      "self.all(k, k.startsWith('a') && self[k] > 0)",
      "!('ab' in self) || self.ab == 2",
    ),
    valid: [{}, { a: 1, ab: 2 }],
    invalid: [{ b: 1 }, { a: 0 }, { ab: 1 }],
  },
  {
    name: "rules of items and of members of maps",
    schema: {
      type: "object",
      maxProperties: 4,
      additionalProperties: { type: "array", maxItems: 4, items: object({ n: integer }, "self.n > 0") },
    },
    valid: [{ a: [{ n: 1 }], b: [] }],
    invalid: [{ a: [{ n: 1 }], b: [{ n: 0 }] }],
  },
  {
    name: "names that are escaped",
    schema: object(
      { "a-b": integer, "c.d": integer, "e/f": integer, g__h: integer, namespace: text, in: integer },
      "self.a__dash__b == 1 && self.c__dot__d == 2 && self.e__slash__f == 3 && self.g__underscores__h == 4",
      "self.__namespace__ == 'x' && self.__in__ == 5",
    ),
    valid: [{ "a-b": 1, "c.d": 2, "e/f": 3, g__h: 4, namespace: "x", in: 5 }],
    invalid: [
      { "a-b": 1, "c.d": 2, "e/f": 3, g__h: 4, namespace: "y", in: 5 },
      { "a-b": 2, "c.d": 2, "e/f": 3, g__h: 4, namespace: "x", in: 5 },
    ],
  },
  {
    name: "embedded resources",
    schema: ruled(
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      "self.kind == 'Pod' && self.metadata.name.startsWith('a')",
    ),
    valid: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: {} }],
    invalid: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "b" } }],
  },
  {
    name: "values of unknown type are only compared",
    schema: list({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, "self[0] == self[1]"),
    valid: [[{ x: 1 }, { x: 1 }]],
    invalid: [[{ x: 1 }, { x: 2 }]],
  },
  {
    name: "durations",
    schema: object(
      { d: { ...text, format: "duration" }, t: text },
      "!has(self.d) || self.d <= duration('1h')",
      "!has(self.t) || duration(self.t) >= duration('1m30s')",
      "!has(self.d) || self.d.getSeconds() > 1",
    ),
    valid: [{ d: "1h0m0s" }, { t: "90s" }, { t: "1.5m" }],
    invalid: [{ d: "1h1s" }, { t: "89s" }, { t: "1x" }, { t: "" }, { d: "1s" }],
  },
  {
    name: "times",
    schema: object(
      { a: { ...text, format: "date-time" }, b: text },
      "self.a <= timestamp(self.b)",
      "timestamp(self.b) - self.a < duration('48h')",
    ),
    valid: [{ a: "2026-01-01T00:00:00Z", b: "2026-01-01T02:00:00+02:00" }],
    invalid: [
      { a: "2026-01-01T00:00:01Z", b: "2026-01-01T02:00:00+02:00" },
      { a: "2026-01-01T00:00:00Z", b: "2026-01-03T00:00:00Z" },
      { a: "2026-01-01T00:00:00Z", b: "2026-02-30T00:00:00Z" },
    ],
  },
  {
    name: "bytes",
    schema: ruled({ ...text, format: "byte" }, "self == b'ab' || size(self) == 1"),
    valid: ["YWI=", "YQ=="],
    invalid: ["YWM="],
  },
  textCase("self.matches('^[a-z]+(-[a-z]+)?$')", ["a-b"], ["a_b"]),
  textCase("size(self) == 2 && self.size() == 2", ["ab", "äö"], ["abc"]),
  textCase("self.contains('x') || self.endsWith('z')", ["axb", "z"], ["y"]),
  textCase("self.lowerAscii() == 'aö' || self.upperAscii() == 'B'", ["Aö", "b"], ["AÖ"]),
  textCase("self.indexOf('b') == 1 && self.lastIndexOf('b') == 3", ["äbcb"], ["bb"]),
  textCase("self.substring(1) == 'bc' && self.substring(0, 1) == 'a'", ["abc"], ["abd", ""]),
  textCase("self.split('/').size() == 2 && self.split('/', 1)[0] == self", ["a/b"], ["a", "a/b/c"]),
  {
    name: "replace",
    schema: ruled({ type: "string", maxLength: 2 }, "self.replace('a', 'b', 1) == 'ba'", "self.replace('a', '') == ''"),
    valid: ["aa"],
    invalid: ["ab"],
  },
  textCase("self.trim() == 'a' && self.charAt(0) == ' '", [" a\t"], ["a", " b"]),
  { name: "join", schema: list(text, "self.join('-') == 'a-x'"), valid: [["a", "x"]], invalid: [["a"], ["x", "a"]] },
  textCase("isURL(self) && url(self).getScheme() == 'https'", ["https://a.example.com:443/x?y=1", "HTTPS://a"], ["http://a", "a", ""]),
  textCase("url(self).getHostname() == 'a' && url(self).getPort() == '80'", ["http://a:80/b"], ["http://a/b", "http://b:80"]),
  textCase("url(self).getHost() == '[::1]:80' && url(self).getEscapedPath() == '/b%20c'", ["http://[::1]:80/b%20c"], ["http://[::1]:80/b"]),
  textCase("isQuantity(self) && quantity(self).isLessThan(quantity('1Gi'))", ["1023Mi", "1"], ["1024Mi", "x", "1Ti"]),
  textCase("quantity(self).add(quantity('1')).compareTo(quantity('1500m')) == 0", ["0.5", "500m"], ["1"]),
  // Older API servers estimate that a comparison of quantities costs too much.
  { ...textCase("quantity(self) == quantity('1024Mi') || sign(quantity(self)) < 0", ["1Gi", "-1"], ["1G"]), since: 32 },
  textCase("int(self) > 5 || (self == 'true' && bool(self))", ["6", "true"], ["5", "x"]),
  textCase("self in ['a', 'b'] && {'a': 1, 'b': 2}[self] == 1", ["a"], ["b", "c"]),
  {
    name: "transition rules are skipped",
    schema: ruled(text, "self == oldSelf", "self != 'x'"),
    valid: ["a"],
    invalid: ["x"],
  },
  { name: "functions that are not available", schema: ruled(text, "self.find('[0-9]') != ''"), unchecked: ["x"] },
  { name: "regular expressions that are too long", schema: ruled(text, `self.matches('${"a".repeat(300)}')`), unchecked: ["x"] },
  {
    name: "an unchecked operand that decides",
    schema: object({ a: text, b: integer }, "self.b > 1 || self.a.find('[0-9]') != ''"),
    unchecked: [{ a: "x", b: 1 }],
  },
];
