import { QueryObserver } from "@tanstack/react-query";
import { afterEach, expect, test } from "vitest";
import { createQueryClient } from "./consoleState.tsx";
import { refreshQueries } from "./refreshQueries.ts";

const KEY = ["extension", "db", "overview"];
const queries = createQueryClient();
afterEach(() => queries.clear());

/** Shows a query whose responses the test decides. */
function showQuery(): { requests: PromiseWithResolvers<string>[]; shown: () => string | undefined; close: () => void } {
  const requests: PromiseWithResolvers<string>[] = [];
  const observer = new QueryObserver<string>(queries, {
    queryKey: KEY,
    queryFn: () => {
      const request = Promise.withResolvers<string>();
      requests.push(request);
      return request.promise;
    },
  });
  const close = observer.subscribe(() => undefined);
  return { requests, shown: () => observer.getCurrentResult().data, close };
}

test("refreshQueries reads a query again when it was loading for the first time", async () => {
  const { requests, shown, close } = showQuery();
  expect(requests).toHaveLength(1);
  refreshQueries(queries, KEY.slice(0, 2));
  refreshQueries(queries, KEY.slice(0, 2));
  expect(requests).toHaveLength(1);
  requests[0]?.resolve("old");
  await expect.poll(() => requests.length).toBe(2);
  requests[1]?.resolve("new");
  await expect.poll(shown).toBe("new");
  expect(requests).toHaveLength(2);
  close();
});

test("refreshQueries reads a loaded query again, and no other query", async () => {
  const { requests, shown, close } = showQuery();
  requests[0]?.resolve("old");
  await expect.poll(shown).toBe("old");
  refreshQueries(queries, ["extension", "other"]);
  expect(requests).toHaveLength(1);
  refreshQueries(queries, KEY.slice(0, 2));
  expect(requests).toHaveLength(2);
  close();
});
