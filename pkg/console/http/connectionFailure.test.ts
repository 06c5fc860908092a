import { expect, test } from "vitest";
import { KubeError, NoCredential } from "../../kube/errors.ts";
import { classifyConnectionFailure } from "./connectionFailure.ts";

const withCode = (code: string): Error => Object.assign(new Error("x"), { code });
const kube = (status: number): KubeError => new KubeError("x", { status, reason: "" });

test.each([
  { what: "the connection was refused", err: withCode("ECONNREFUSED"), failure: "unreachable" },
  { what: "a cause lost the connection", err: new Error("list", { cause: withCode("UND_ERR_SOCKET") }), failure: "unreachable" },
  { what: "the certificate has expired", err: withCode("CERT_HAS_EXPIRED"), failure: "certificate" },
  { what: "the authority is unknown", err: withCode("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), failure: "certificate" },
  { what: "there is no credential", err: new NoCredential("Retrying", "x"), failure: "credentials" },
  { what: "the API server does not accept the credential", err: kube(401), failure: "credentials" },
  { what: "the API server failed", err: kube(500), failure: "errors" },
  { what: "the disk is full", err: withCode("ENOSPC"), failure: "errors" },
])("classifyConnectionFailure returns $failure when $what", ({ err, failure }) => {
  expect(classifyConnectionFailure(err)).toBe(failure);
});
