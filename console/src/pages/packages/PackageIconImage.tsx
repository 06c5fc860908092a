import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { useCatalogData } from "./catalogData.tsx";

/** The icon of a package, or its first letter if it has none. Decoration: the name is beside it. */
export function PackageIconImage({
  catalog,
  name,
  size = "md",
}: {
  readonly catalog: string;
  readonly name: string;
  readonly size?: "md" | "lg";
}): ReactElement {
  const data = useCatalogData();
  const [isBroken, setBroken] = useState(false);
  const { data: icon } = useQuery({
    queryKey: ["package-icon", catalog, name],
    queryFn: async ({ signal }) => (await data.readIcon(catalog, name, signal)) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const className = `olm-package-icon olm-package-icon-${size}`;
  if (icon && !isBroken) return <img src={icon} alt="" className={className} onError={() => setBroken(true)} />;
  return (
    <span aria-hidden="true" className={`${className} olm-package-letter`}>
      {(Array.from(name)[0] ?? "").toUpperCase()}
    </span>
  );
}
