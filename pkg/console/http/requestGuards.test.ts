import { describe, expect, test } from "vitest";
import { findForgery, type GuardedRequest, isApiPath, listLoopbackHosts } from "./requestGuards.ts";

const READ: GuardedRequest = {
  method: "GET",
  isApi: true,
  host: "127.0.0.1:8080",
  origin: undefined,
  fetchSite: undefined,
  contentType: undefined,
};
const LAPTOP = { hosts: listLoopbackHosts(8080) };
const CLUSTER = { hosts: undefined };

describe("findForgery", () => {
  test.each([
    { what: "a program reads", request: READ },
    { what: "a page of the console reads", request: { ...READ, origin: "http://127.0.0.1:8080", fetchSite: "same-origin" } },
    { what: "the host has another name of this machine", request: { ...READ, host: "LOCALHOST:8080", origin: "http://localhost:8080" } },
    { what: "the host is an IPv6 address", request: { ...READ, host: "[::1]:8080", origin: "http://[::1]:8080" } },
    { what: "a link of another site opens a page", request: { ...READ, isApi: false, fetchSite: "cross-site" } },
    {
      what: "a page of the console writes",
      request: { ...READ, method: "POST", contentType: "application/json; charset=utf-8", fetchSite: "same-origin" },
    },
  ])("accepts a request when $what", ({ request }) => {
    expect(findForgery(request, LAPTOP)).toBeUndefined();
  });

  test.each([
    { what: "the host was rebound", request: { ...READ, host: "attacker.example:8080" } },
    { what: "the host has no port", request: { ...READ, host: "127.0.0.1" } },
    { what: "the host is missing", request: { ...READ, host: undefined } },
    { what: "the origin is another port", request: { ...READ, origin: "http://127.0.0.1:8081" } },
    { what: "the origin is another name of this machine", request: { ...READ, origin: "http://localhost:8080" } },
    { what: "the origin is a file", request: { ...READ, origin: "null" } },
    { what: "the origin has another scheme", request: { ...READ, origin: "chrome-extension://127.0.0.1:8080" } },
    { what: "another site reads the API", request: { ...READ, fetchSite: "cross-site" } },
    { what: "another site writes", request: { ...READ, isApi: false, method: "POST", fetchSite: "same-site" } },
    { what: "a form writes", request: { ...READ, method: "POST", contentType: "text/plain" } },
    { what: "a method is unknown", request: { ...READ, method: "PROPFIND" } },
  ])("rejects a request when $what", ({ request }) => {
    expect(findForgery(request, LAPTOP)).toEqual(expect.any(String));
  });

  test("accepts the origin of the host without regard to the scheme when a proxy terminates TLS", () => {
    const request = { ...READ, host: "console.example.com", origin: "https://console.example.com" };
    expect(findForgery(request, CLUSTER)).toBeUndefined();
    expect(findForgery({ ...request, origin: "https://console.example.com.attacker.example" }, CLUSTER)).toEqual(expect.any(String));
  });
});

test.each([
  { path: "/api", is: true },
  { path: "/api/session", is: true },
  { path: "/api?x", is: true },
  { path: "/apis", is: false },
  { path: "/extensions/api", is: false },
])("isApiPath returns $is when the path is $path", ({ path, is }) => {
  expect(isApiPath(path)).toBe(is);
});
