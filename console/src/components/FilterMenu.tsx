import "./filters.css";
import { Badge } from "@patternfly/react-core";
import { lazy, type ReactElement } from "react";
import { MenuButton } from "./MenuButton.tsx";

const loadList = () => import("./FilterMenuList.tsx");
const FilterMenuList = lazy(loadList);

/** An option of a menu. */
export interface FilterOption {
  readonly value: string;
  readonly label: string;
  /** Number of rows with the value. */
  readonly count?: number;
}

/** A menu of options of which the user may select several, such as the values of a filter or the columns of a table. */
export function FilterMenu({
  label,
  options,
  selected,
  onChange,
  isCounted = true,
}: {
  readonly label: string;
  readonly options: readonly FilterOption[];
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  /** Whether the button shows the number of selected options. */
  readonly isCounted?: boolean;
}): ReactElement {
  return (
    <MenuButton
      isDisabled={options.length === 0}
      badge={isCounted && selected.length > 0 ? <Badge isRead>{selected.length}</Badge> : undefined}
      load={loadList}
      menu={(opened) => <FilterMenuList label={label} options={options} selected={selected} onChange={onChange} opened={opened} />}
    >
      {label}
    </MenuButton>
  );
}
