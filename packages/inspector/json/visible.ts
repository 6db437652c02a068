// What a model or a tool has written may hold characters that do something instead of being seen: terminal escapes, marks that turn
// the direction of what follows, tags that only a model reads. Where things are shown as they are these are shown too, as JSON
// writes them. The joiners and the selectors stay of which some scripts and many emoji are made.
const unseen = /[[\p{C}\p{DI}\p{Zl}\p{Zp}]--[\t\n\u{200c}\u{200d}\u{fe0e}\u{fe0f}]]/gv

/** The text with everything in it that cannot be seen written out: `\u001b[31m`. Tabs and line feeds stay. */
export function visible(text: string): string {
  return text.replace(unseen, (char) => char.split('').map(escaped).join(''))
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The beginning of a text in one line, for a row of a list. */
export function oneLine(text: string, most = 160): string {
  const cut = text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text
  return visible(cut.replace(/\r?\n/g, '⏎').replaceAll('\t', ' '))
}
