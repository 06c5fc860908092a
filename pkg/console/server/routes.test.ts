import { fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KeptCatalogs } from "../../sources/keptCatalogs.ts";
import { createLogger } from "../../telemetry/log.ts";
import type { Callers } from "../consoleContext.ts";
import { ConsoleError, toConsoleProblem } from "../http/consoleError.ts";
import { compileConsoleValidator } from "../http/requestInput.ts";
import { EventStreams } from "../live/eventStreams.ts";
import { registerApi } from "./routes.ts";

/** Callers without an identity. */
const STRANGERS: Callers = {
  identify: () => {
    throw new ConsoleError("signedOut", "no identity");
  },
  hold: async () => {
    throw new ConsoleError("signedOut", "no identity");
  },
  [Symbol.dispose]: () => undefined,
};

const METHODS = ["GET", "POST"] as const;
const streams = new EventStreams();
const catalogs = new KeptCatalogs({ cacheFolder: undefined });
const app = fastify();
const routes: { method: (typeof METHODS)[number]; url: string }[] = [];

beforeAll(async () => {
  app.setValidatorCompiler(compileConsoleValidator);
  app.setErrorHandler((err, _request, reply) => {
    const { status, problem } = toConsoleProblem(err);
    return reply.code(status).send(problem);
  });
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of METHODS) if (method === one) routes.push({ method: one, url });
  });
  const log = createLogger({ component: "test", level: "silent", destination: { write: () => undefined } });
  const session = { mode: "laptop", server: "https://127.0.0.1", readOnly: false, systemNamespace: "olmv1-system", version: "1" } as const;
  registerApi(app, { callers: STRANGERS, streams, catalogs, registry: {}, session, log });
  await app.ready();
});
afterAll(async () => {
  await app.close();
  streams[Symbol.dispose]();
  await catalogs.close();
});

test("each route of the API rejects callers without an identity, before it reads their input", async () => {
  const answers = await Promise.all(
    routes.map(async ({ method, url }) => {
      const { statusCode, json } = await app.inject({ method, url, ...(method === "POST" ? { body: { unknown: true } } : {}) });
      return [`${method} ${url}`, statusCode, json<{ kind: string }>().kind];
    }),
  );
  expect(answers.length).toBeGreaterThan(20);
  // The login needs a valid body, and no identity.
  const want = routes.map(({ method, url }) => [`${method} ${url}`, ...(url === "/api/login" ? [400, "invalid"] : [401, "signedOut"])]);
  expect(answers).toEqual(want);
});
