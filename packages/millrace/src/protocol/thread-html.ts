import type { ExportedThread } from './thread-export.ts'

/** What the page for exports has in front of the export itself. */
export const exportMark = '<script type="application/json" id="millrace-export">'

/**
 * Fills in the page for exports: `{{title}}`, `{{date}}`, `{{day}}` and `{{export}}`. `at` is the
 * time of the export.
 */
export function fillThreadHtml(template: string, exported: ExportedThread, at: number): string {
  const { title, id } = exported.thread
  const date = new Date(at).toISOString()
  const values: Readonly<Record<string, string>> = {
    title: htmlText(title ?? id),
    date,
    day: `${date.slice(0, 16).replace('T', ' ')} UTC`,
    export: scriptJson(exported),
  }
  // All in one pass: a title with `{{export}}` in it stays a title.
  return template.replace(/\{\{(\w+)\}\}/g, (slot, name: string) => values[name] ?? slot)
}

// Terminals interpret some of these as control codes; others reverse the text.
const unsafe = /\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/gu

/**
 * JSON for a script element. Without `<`, no text can end the element or start a comment in it (HTML,
 * 13.2.5.4).
 */
function scriptJson(value: unknown): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replaceAll('<', escaped).replace(unsafe, escaped)
}

function htmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(unsafe, ' ')
    .replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
