import { expect, test } from "vitest";
import { parseChallenges } from "./tokens.ts";

type Want = [scheme: string, params: Record<string, string>][];

test.for<[string, string | string[] | undefined, Want]>([
  ["nothing", undefined, []],
  ["an empty line", "", []],
  ["a scheme alone", "Basic", [["basic", {}]]],
  [
    "bearer as registries send it",
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
    "schemes without parameters side by side",
    "Negotiate, NTLM, Basic realm=x",
    [
      ["negotiate", {}],
      ["ntlm", {}],
      ["basic", { realm: "x" }],
    ],
  ],
  ["quotes inside quotes", 'Basic realm="a \\"b\\" \\\\ c, d=e"', [["basic", { realm: 'a "b" \\ c, d=e' }]]],
  ["white space around everything", '  Bearer   realm = "x" ,\tservice =  y  ', [["bearer", { realm: "x", service: "y" }]]],
  ["names in any case", 'BEARER Realm="x",SERVICE="y"', [["bearer", { realm: "x", service: "y" }]]],
  ["empty list elements", ', ,Bearer realm="x",,service="y",', [["bearer", { realm: "x", service: "y" }]]],
  ["the last of a repeated name", "Bearer realm=a,realm=b", [["bearer", { realm: "b" }]]],
  ["an empty quoted value", 'Bearer realm=""', [["bearer", { realm: "" }]]],
  ["a quote that never ends", 'Bearer service=s,realm="x', [["bearer", { service: "s" }]]],
  ["garbage behind a challenge", "Basic realm=x; foo", [["basic", { realm: "x" }]]],
  ["garbage alone", '"realm"', []],
])("challenges: %s", ([, header, want]) => {
  expect(parseChallenges(header).map(({ scheme, params }) => [scheme, Object.fromEntries(params)])).toEqual(want);
});
