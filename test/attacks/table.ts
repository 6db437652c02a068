import { readdirSync, readFileSync } from 'node:fs'

/** The shells that lines are judged for and run in. */
export const shellNames = ['bash', 'dash', 'busybox'] as const
export type ShellName = (typeof shellNames)[number]

/** A line that would run the command `marker`, or change a file, although no rule allows that. */
export interface Attack {
  readonly line: string
  /** Where it works. It is judged for every shell. */
  readonly shells: readonly ShellName[]
  readonly group: string
  /** A program that it needs, and that is not on every machine. */
  readonly needs: string | undefined
  /** It cannot be tried: it needs a terminal, a network, another user or a program that is hardly ever there. */
  readonly judgedOnly: boolean
  /** It writes by a program's own words, which a rule that allows the program allows: `sort -o f`. */
  readonly ownWrite: boolean
}

/** Where things lie in the world that lines are run in. */
export interface Places {
  readonly workspace: string
  readonly outside: string
  readonly bin: string
}

/**
 * A row is `bdx line`, with `-` for a shell (bash, dash, busybox) in which it does not work, and `bdx,python3`, `bdx,judged`, `bdx,own` for
 * what else is to be known. CMD, BIN, WORKSPACE and OUTSIDE are filled in, and signs such as ␤ stand for characters that cannot be seen.
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
  if (!found) throw new Error(`a row of the table cannot be read: ${row}`)
  const [, bash, dash, busybox, notes = '', line = ''] = found
  const works = [bash, dash, busybox]
  const words = notes.split(',').slice(1)
  return {
    line: unfold(line, places),
    shells: shellNames.filter((_, index) => works[index] !== '-'),
    group,
    needs: words.find((word) => word !== 'judged' && word !== 'own'),
    judgedOnly: words.includes('judged'),
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
