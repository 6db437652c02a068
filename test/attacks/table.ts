import { readdirSync, readFileSync } from 'node:fs'

/** The shells that lines are checked for and run in. */
export const shellNames = ['bash', 'dash', 'busybox'] as const
export type ShellName = (typeof shellNames)[number]

/** A line that would run the command `marker`, or change a file, although no rule allows that. */
export interface Attack {
  readonly line: string
  /** The shells in which it works. It is checked for all of them. */
  readonly shells: readonly ShellName[]
  readonly group: string
  /** A program that it needs and that is not on every machine. */
  readonly needs: string | undefined
  /** It cannot be run here: it needs a terminal, a network, another user or a rare program. */
  readonly checkedOnly: boolean
  /**
   * It writes by an argument of a program, which a rule that allows the program allows: `sort -o
   * f`.
   */
  readonly ownWrite: boolean
}

/** The folders of the fixture. */
export interface Places {
  readonly workspace: string
  readonly outside: string
  readonly bin: string
}

/**
 * A row is `bdx line`, with `-` for a shell (bash, dash, busybox) in which it does not work, and
 * notes as in `bdx,python3`, `bdx,checked`, `bdx,own`. CMD, BIN, WORKSPACE and OUTSIDE are
 * replaced, and symbols such as ␤ stand for invisible characters.
 */
export function attackTable(places: Places): Attack[] {
  return readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.table.txt'))
    .sort()
    .flatMap((name) => attacksIn(name, readFileSync(`${import.meta.dirname}/${name}`, 'utf8'), places))
}

function attacksIn(file: string, text: string, places: Places): Attack[] {
  const about = file.replace(/^lines-|\.table\.txt$/g, '')
  return text
    .split(/^== /m)
    .slice(1)
    .flatMap((section) => {
      const [title = '', ...rows] = section.split('\n')
      return rows.filter(Boolean).map((row) => attackOf(row, `${about}: ${title}`, places))
    })
}

function attackOf(row: string, group: string, places: Places): Attack {
  const found = /^([b-])([d-])([x-])((?:,[\w-]+)*) (.+)$/s.exec(row)
  if (!found) throw new Error(`invalid row of the table: ${row}`)
  const [, bash, dash, busybox, notes = '', line = ''] = found
  const works = [bash, dash, busybox]
  const words = notes.split(',').slice(1)
  return {
    line: unfold(line, places),
    shells: shellNames.filter((_, index) => works[index] !== '-'),
    group,
    needs: words.find((word) => word !== 'checked' && word !== 'own'),
    checkedOnly: words.includes('checked'),
    ownWrite: words.includes('own'),
  }
}

const signs: Readonly<Record<string, string>> = {
  '␤': '\n',
  '␉': '\t',
  '␍': '\r',
  '␌': '\f',
  '␋': '\v',
  '␁': '\x01',
  '␇': '\x07',
  '␛': '\x1b',
  '␡': '\x7f',
  '␅': '\x85',
  '⍽': '\u00a0',
}

function unfold(line: string, { workspace, outside, bin }: Places): string {
  return line
    .replace(/[␤␉␍␌␋␁␇␛␡␅⍽]/g, (sign) => signs[sign] ?? sign)
    .replace(/(?<!BASH_)CMD/g, 'marker')
    .replaceAll('WORKSPACE', workspace)
    .replaceAll('OUTSIDE', outside)
    .replace(/\/?BIN\b/g, bin)
}
