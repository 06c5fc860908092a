import { describe, expect, test } from "vitest";
import { KindNotServed, KubeError, NoCredential } from "../../kube/errors.ts";
import { UnreachableError } from "../../oci/registry/networkError.ts";
import { ConsoleError, toConsoleProblem } from "./consoleError.ts";

const withCode = (code: string): Error => Object.assign(new Error("x"), { code });
const kube = (status: number, reason = ""): KubeError => new KubeError("x", { status, reason });

describe("toConsoleProblem", () => {
  test.each([
    { what: "the API server does not accept the credentials", err: kube(401), kind: "signedOut", status: 401 },
    { what: "a permission is missing", err: kube(403), kind: "forbidden", status: 403 },
    { what: "the object does not exist", err: kube(404), kind: "notFound", status: 404 },
    { what: "the object was changed", err: kube(409, "Conflict"), kind: "conflict", status: 409 },
    { what: "the API server is overloaded", err: kube(429), kind: "limited", status: 429 },
    { what: "the API server failed", err: kube(500), kind: "failed", status: 500 },
    { what: "the kind is not served", err: new KindNotServed("v1", "X"), kind: "notInstalled", status: 404 },
    { what: "the credential is missing", err: new NoCredential("Retrying", "x"), kind: "disconnected", status: 503 },
    { what: "the connection was refused", err: withCode("ECONNREFUSED"), kind: "disconnected", status: 503 },
    { what: "undici lost the connection", err: withCode("UND_ERR_SOCKET"), kind: "disconnected", status: 503 },
    { what: "the certificate has expired", err: withCode("CERT_HAS_EXPIRED"), kind: "disconnected", status: 503 },
    { what: "the disk is full", err: withCode("ENOSPC"), kind: "failed", status: 500 },
    {
      what: "a registry does not respond",
      err: new Error("pull", { cause: new UnreachableError("x", { cause: withCode("ENOTFOUND") }) }),
      kind: "failed",
      status: 500,
    },
    { what: "the body is too large", err: Object.assign(new Error("x"), { statusCode: 413 }), kind: "invalid", status: 413 },
    { what: "the cause decides", err: new Error("read", { cause: kube(403) }), kind: "forbidden", status: 403 },
    { what: "it is not an error", err: "x", kind: "failed", status: 500 },
  ])("returns kind $kind when $what", ({ err, kind, status }) => {
    expect(toConsoleProblem(err)).toMatchObject({ status, problem: { kind } });
  });

  test.each([
    { code: "ECONNREFUSED", message: "The API server does not respond." },
    { code: "CERT_HAS_EXPIRED", message: "The certificate of the API server is not valid." },
  ])("describes the lost connection with code $code in plain words", ({ code, message }) => {
    const { problem } = toConsoleProblem(new Error("connect", { cause: withCode(code) }));
    expect(problem).toMatchObject({ kind: "disconnected", message, detail: expect.stringContaining("connect") });
  });

  test("keeps what a ConsoleError says about the next step and the missing permission", () => {
    const missing = "get pods";
    const err = new Error("outer", { cause: new ConsoleError("forbidden", "no", { next: "ask", missing }) });
    expect(toConsoleProblem(err)).toMatchObject({ status: 403, problem: { kind: "forbidden", next: "ask", missing } });
  });

  test("contains no secrets and no endless texts", () => {
    const { problem } = toConsoleProblem(new Error(`dial https://user:password@host with Bearer abcDEF123456789 ${"x".repeat(10_000)}`));
    expect(problem.message).not.toMatch(/password|abcDEF123456789/);
    expect(problem.message.length).toBeLessThan(2_100);
  });
});
