/** The properties of a scrollable box for wide content, which is focusable. */
export const scrollBox = (label: string) => ({ role: 'group', ariaLabel: label, tabIndex: 0 }) as const
