import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { generate } from "selfsigned";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { eventually } from "./eventually.ts";

interface Review {
  request: { uid: string; dryRun?: boolean; name: string };
}

/**
 * Blocks writes of one resource in one namespace while it is closed: a validating webhook that does not respond. A test can then inspect,
 * stop or kill a controller in the middle of a reconcile. Dry runs pass.
 */
export class AdmissionGate implements AsyncDisposable {
  readonly #admin: Client;
  readonly #server: Server;
  readonly #configuration: ObjectRef;
  readonly #waiting: (() => void)[] = [];
  #seen = 0;
  #closed = false;

  private constructor(admin: Client, server: Server, name: string) {
    this.#admin = admin;
    this.#server = server;
    this.#configuration = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", name };
  }

  /** @param probe an object of the resource, dry-run until the API server calls the gate for it. */
  static async start(admin: Client, probe: KubeObject, rule: { group: string; version: string; resource: string }): Promise<AdmissionGate> {
    const { cert, private: key } = await generate([{ name: "commonName", value: "gate" }], {
      algorithm: "sha256",
      keyType: "ec",
      extensions: [
        { name: "basicConstraints", cA: true, critical: true },
        { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
      ],
    });
    let gate: AdmissionGate | undefined;
    const server = createServer({ key, cert }, (request, response) => void gate?.serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const namespace = probe.metadata.namespace ?? "";
    gate = new AdmissionGate(admin, server, `gate-${namespace}`);
    const { group, version, resource } = rule;
    await admin.create({
      ...gate.#configuration,
      metadata: { name: gate.#configuration.name },
      webhooks: [
        {
          name: "gate.test.example.com",
          clientConfig: {
            url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
            caBundle: Buffer.from(cert).toString("base64"),
          },
          rules: [{ apiGroups: [group], apiVersions: [version], operations: ["CREATE", "UPDATE"], resources: [resource] }],
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          timeoutSeconds: 30,
          failurePolicy: "Fail",
        },
      ],
    });
    const current = gate;
    await eventually(async () => {
      await admin.create(probe, { dryRun: true });
      if (current.#seen === 0) throw new Error("the API server does not call the gate yet");
    });
    return gate;
  }

  close(): void {
    this.#closed = true;
  }

  open(): void {
    this.#closed = false;
    for (const pass of this.#waiting.splice(0)) pass();
  }

  /** Resolves when a write waits at the closed gate. */
  async holds(): Promise<void> {
    await eventually(() => {
      if (this.#waiting.length === 0) throw new Error("no write is waiting at the gate");
    });
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { request: review } = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    this.#seen++;
    if (this.#closed && !review.dryRun) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: review.uid, allowed: true } }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.open();
    await this.#admin.delete(this.#configuration);
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}
