import { expect, test } from "vitest";
import { parseChallenges } from "./tokens.ts";

type Want = [scheme: string, params: Record<string, string>][];

test.for<[string, string | string[] | undefined, Want]>([
  ["nothing", undefined, []],
  ["an empty line", "", []],
  ["only a scheme", "Basic", [["basic", {}]]],
  [
    "bearer as sent by registries",
    'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull"',
    [["bearer", { realm: "https://auth.docker.io/token", service: "registry.docker.io", scope: "repository:a/b:pull" }]],
  ],
  [
    "two challenges in one line",
    'Bearer realm="https://a/t", service=s, Basic realm="r"',
    [
      ["bearer", { realm: "https://a/t", service: "s" }],
      ["basic", { realm: "r" }],
    ],
  ],
  [
    "two lines",
    ['Basic realm="x"', 'Bearer realm="y"'],
    [
      ["basic", { realm: "x" }],
      ["bearer", { realm: "y" }],
    ],
  ],
  [
    "token68 before another challenge",
    'Negotiate YWJj/+Zg==, Basic realm="x"',
    [
      ["negotiate", {}],
      ["basic", { realm: "x" }],
    ],
  ],
  [
    "several schemes without parameters",
    "Negotiate, NTLM, Basic realm=x",
    [
      ["negotiate", {}],
      ["ntlm", {}],
      ["basic", { realm: "x" }],
    ],
  ],
  ["quotes inside quotes", 'Basic realm="a \\"b\\" \\\\ c, d=e"', [["basic", { realm: 'a "b" \\ c, d=e' }]]],
  ["white space around everything", '  Bearer   realm = "x" ,\tservice =  y  ', [["bearer", { realm: "x", service: "y" }]]],
  ["case-insensitive names", 'BEARER Realm="x",SERVICE="y"', [["bearer", { realm: "x", service: "y" }]]],
  ["empty list elements", ', ,Bearer realm="x",,service="y",', [["bearer", { realm: "x", service: "y" }]]],
  ["the last of a repeated name", "Bearer realm=a,realm=b", [["bearer", { realm: "b" }]]],
  ["an empty quoted value", 'Bearer realm=""', [["bearer", { realm: "" }]]],
  ["an unterminated quote", 'Bearer service=s,realm="x', [["bearer", { service: "s" }]]],
  ["invalid text after a challenge", "Basic realm=x; foo", [["basic", { realm: "x" }]]],
  ["only invalid text", '"realm"', []],
])("challenges: %s", ([, header, want]) => {
  expect(parseChallenges(header).map(({ scheme, params }) => [scheme, Object.fromEntries(params)])).toEqual(want);
});
