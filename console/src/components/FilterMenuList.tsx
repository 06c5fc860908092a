import { Select, SelectList, SelectOption } from "@patternfly/react-core";
import { type ReactElement, useEffect, useState } from "react";
import type { FilterOption } from "./FilterMenu.tsx";
import type { OpenedMenu } from "./MenuButton.tsx";

/** The options of a FilterMenu. */
export default function FilterMenuList({
  label,
  options,
  selected,
  onChange,
  opened: { toggle, isOpen, onOpenChange },
}: {
  readonly label: string;
  readonly options: readonly FilterOption[];
  readonly selected: readonly string[];
  readonly onChange: (selected: readonly string[]) => void;
  readonly opened: OpenedMenu;
}): ReactElement {
  // Select moves the focus into the menu when it opens, not if it is open from the beginning.
  const [isMounted, setMounted] = useState(false);
  useEffect(() => setMounted(true), []);
  const change = (value: string): void =>
    onChange(selected.includes(value) ? selected.filter((one) => one !== value) : [...selected, value]);
  return (
    <Select
      role="menu"
      isOpen={isOpen && isMounted}
      onOpenChange={onOpenChange}
      onSelect={(_event, value) => change(String(value))}
      isScrollable
      shouldFocusFirstItemOnOpen
      maxMenuHeight="24rem"
      popperProps={{ preventOverflow: true }}
      toggle={toggle}
    >
      <SelectList aria-label={label}>
        {options.map(({ value, label: name, count }) => (
          <SelectOption key={value} value={value} hasCheckbox isSelected={selected.includes(value)}>
            <span className="olm-filter-option">
              <bdi className="olm-break">{name}</bdi>
              {count !== undefined && <span className="olm-filter-count">{count}</span>}
            </span>
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  );
}
