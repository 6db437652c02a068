import { expect, test } from 'vitest'
import { apiReport, difference } from '../scripts/api/report.ts'

const declarations = `import { Socket } from "node:net";
/** A reader. */
interface Reader {
  /** The address; \`//\` does not start a comment. */
  readonly address: "http://localhost"; // here

  read(): string;
}
declare function open(path: string): Reader;
declare function open(socket: Socket): Reader;
type Mode = /* for now */ 'read';
declare const modes: readonly Mode[];
export { type Mode, type Reader, modes, open };`

test('a report holds every declaration, without comments and sorted by name', () => {
  expect(apiReport(declarations)).toBe(`import { Socket } from "node:net";

type Mode =  'read';

interface Reader {
  readonly address: "http://localhost";
  read(): string;
}

declare const modes: readonly Mode[];

declare function open(path: string): Reader;

declare function open(socket: Socket): Reader;

export { type Mode, type Reader, modes, open };
`)
})

test('a report does not depend on the order in which declarations were bundled', () => {
  const moved = declarations
    .replace(/^type Mode.*\n/m, '')
    .replace('/** A reader', "type Mode = 'read';\n/** A reader")
  expect(apiReport(moved).replace('= ', '=  ')).toBe(apiReport(declarations))
})

test('declarations that cannot be parsed are not reported as an empty API', () => {
  expect(() => apiReport('interface {')).toThrow('Cannot parse')
})

test('a difference shows the changed lines, and says how many more there are', () => {
  expect(difference('a\nb\nc', 'a\nx\nc')).toBe('- b\n+ x')
  expect(difference('a', 'a\n1\n2\n3', 2)).toBe('+ 1\n+ 2\n… 1 more')
})
