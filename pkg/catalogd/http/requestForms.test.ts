import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { ContentWorld } from "../../../test/support/contentWorld.ts";
import { RawConnection } from "../../../test/support/rawConnection.ts";
import { SERVER_LIMITS } from "./serverLimits.ts";

interface WantedResponse {
  status: number;
  body?: string;
  bodyHas?: string;
  /** Expected in the head; case-insensitive. */
  has?: string[];
  lacks?: string[];
}
interface RequestCase extends CaseHead {
  /** The raw request; ALL is replaced with the path of the catalog's content. */
  send: string;
  answers: WantedResponse[];
  /** Whether the server closes the connection. */
  closed?: boolean;
}

const ALL = "/catalogs/c/api/v1/all";
const LINE = '{"schema":"a"}\n';
let world: ContentWorld;
beforeAll(async () => {
  world = await ContentWorld.start({ c: LINE });
});
afterAll(() => world.close());

describe("requests at the byte level", () => {
  test.for(loadCases<RequestCase>("catalogd-http"))("HTTP server: $name", async ({ send, answers, closed = false }) => {
    const connection = await RawConnection.open(world.port);
    connection.write(Buffer.from(send.replaceAll("ALL", ALL), "latin1"));
    const got = closed ? await connection.closed() : await connection.answered(answers.length);
    // A response to HEAD ends after its headers.
    expect(got.slice(0, answers.length).map(({ status }) => status)).toEqual(answers.map(({ status }) => status));
    expect(got.filter(({ status }) => status < 300).length).toBe(answers.filter(({ status }) => status < 300).length);
    for (const [i, { body, bodyHas, has = [], lacks = [] }] of answers.entries()) {
      const response = got[i];
      if (body !== undefined) expect(response?.body).toBe(body);
      if (bodyHas !== undefined) expect(response?.body).toContain(bodyHas);
      const head = response?.head.toLowerCase();
      for (const text of has) expect(head).toContain(text.toLowerCase());
      for (const text of lacks) expect(head).not.toContain(text.toLowerCase());
    }
    connection.close();
    expect((await world.get(ALL)).body.toString()).toBe(LINE);
  });
});

describe("sizes", () => {
  test("headers of more than 32 KiB are rejected", async () => {
    const connection = await RawConnection.open(world.port);
    connection.write(`GET ${ALL} HTTP/1.1\r\nHost: x\r\nX-A: ${"a".repeat(SERVER_LIMITS.headerBytes)}\r\n\r\n`);
    const [response] = await connection.closed();
    expect([response?.status, response?.body]).toEqual([431, "431 Request Header Fields Too Large\n"]);
  });

  test("a URL of more than 8 KiB is rejected, and a URL of exactly 8 KiB is accepted", async () => {
    const long = (length: number): string => `${ALL}?${"a".repeat(length - ALL.length - 1)}`;
    expect((await world.get(long(SERVER_LIMITS.urlLength))).status).toBe(200);
    const { status, body } = await world.get(long(SERVER_LIMITS.urlLength + 1));
    expect([status, body.toString()]).toEqual([414, "414 Request URI Too Long\n"]);
    const rejected = await world.get(long(SERVER_LIMITS.urlLength + 1), { accept: "application/problem+json" });
    expect(JSON.parse(rejected.body.toString())).toMatchObject({
      code: "UrlTooLong",
      detail: "the URL is too long: 8193 characters, maximum 8192",
    });
  });

  test("a query of more than 100 parameters is rejected", async () => {
    const query = (pieces: number): string => `/catalogs/c/api/v1/metas?${Array(pieces).fill("schema=a").join("&")}`;
    expect((await world.get(query(SERVER_LIMITS.queryPieces))).status).toBe(200);
    const { status, body } = await world.get(query(SERVER_LIMITS.queryPieces + 1));
    expect([status, body.toString()]).toEqual([400, "400 Bad Request\n"]);
  });
});
