import { scriptedModel } from 'millrace/testing'

// What a model would do. The tool calls are real: the tests fail before the edit and pass after it.
export const scriptedSession = () =>
  scriptedModel([
    [
      { text: 'Let me look around and run the tests.' },
      { call: 'list_files', input: {} },
      { call: 'read_file', input: { path: 'hours.js' } },
      { call: 'shell', input: { command: 'node --test' } },
    ],
    [
      { text: 'A shop that closes after midnight has `to` before `from`, which `isOpen` does not handle.' },
      {
        call: 'edit_file',
        input: {
          path: 'hours.js',
          old_text: '  return minute >= from && minute < to\n',
          new_text:
            '  // A shop that closes after midnight is open at both ends of the day.\n' +
            '  return from <= to ? minute >= from && minute < to : minute >= from || minute < to\n',
        },
      },
    ],
    [{ call: 'shell', input: { command: 'node --test' } }],
    'Fixed: `isOpen` in `hours.js` did not handle shops that close after midnight. Both tests pass now.',
  ])
