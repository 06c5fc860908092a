import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { KubeConfig } from "@kubernetes/client-node";
import { generate } from "selfsigned";
import { Credentials } from "../../pkg/kube/credentials.ts";
import { Transport } from "../../pkg/kube/transport.ts";

// A program that a test runs to check that it does not crash: many clients write over HTTP/2 and abort most writes. Prints "done" at the end.

const CLIENTS = 20;
const WRITES = 20;
const ANSWER_MS = 20;

const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }], { keySize: 2048 });
const server = createSecureServer({ key, cert });
server.on("stream", (stream) => {
  stream.on("error", () => undefined);
  stream.resume();
  setTimeout(
    () => {
      if (stream.destroyed) return;
      stream.respond({ ":status": 200 });
      stream.end("{}");
    },
    (stream.id ?? 0) % ANSWER_MS,
  );
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

const credentials = new Credentials(() => {
  const config = new KubeConfig();
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser({ name: "loopback", server: url, skipTLSVerify: true }, { name: "user" });
  return config;
});
const transport = Transport.of(credentials).withToken(() => Promise.resolve("token"));

async function write(): Promise<void> {
  for (let i = 0; i < WRITES; i++) {
    const signal = AbortSignal.timeout(1 + ((i * 7) % ANSWER_MS));
    const sent = transport.request("POST", "/apis", { body: "x".repeat(300), signal });
    await sent.then((response) => response.body.dump()).catch(() => undefined);
  }
}

await Promise.all(Array.from({ length: CLIENTS }, write));
process.stdout.write("done\n");
process.exit(0);
