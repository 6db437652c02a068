// Output of models and tools may contain invisible characters: terminal escapes, marks that change
// the text direction, tags that only a model reads. They are shown escaped, as in JSON. Joiners and
// variation selectors stay, since some scripts and many emoji need them.
const invisible = /[[\p{C}\p{DI}\p{Zl}\p{Zp}]--[\t\n\u{200c}\u{200d}\u{fe0e}\u{fe0f}]]/gv

/** Escapes invisible characters: `\u001b[31m`. Tabs and line feeds stay. */
export function visible(text: string): string {
  return text.replace(invisible, (char) => char.split('').map(escaped).join(''))
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The beginning of a text on one line, for a list row. */
export function oneLine(text: string, most = 160): string {
  const cut = text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}…` : text
  return visible(cut.replace(/\r?\n/g, '⏎').replaceAll('\t', ' '))
}
