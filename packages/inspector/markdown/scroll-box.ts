/** What is wider than the page scrolls in a box of its own, which the keyboard can reach: the properties of such a box. */
export const scrollBox = (label: string) => ({ role: 'group', ariaLabel: label, tabIndex: 0 }) as const
