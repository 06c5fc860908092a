import { fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../../telemetry/log.ts";
import type { Callers, ConsoleContext } from "../consoleContext.ts";
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
  const session = { mode: "laptop", systemNamespace: "olmv1-system" };
  registerApi(app, { callers: STRANGERS, streams, session, log } as unknown as ConsoleContext);
  await app.ready();
});
afterAll(async () => {
  await app.close();
  streams[Symbol.dispose]();
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
