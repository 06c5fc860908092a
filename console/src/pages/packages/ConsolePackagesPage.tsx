import type { ReactElement } from "react";
import { Outlet } from "react-router";
import { CatalogDataContext } from "./catalogData.tsx";
import { consoleCatalogData } from "./consoleCatalogData.ts";

/** The software catalog with the data of the console. */
export default function ConsolePackagesPage(): ReactElement {
  return (
    <CatalogDataContext value={consoleCatalogData}>
      <Outlet />
    </CatalogDataContext>
  );
}
