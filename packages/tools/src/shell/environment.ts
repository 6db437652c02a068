/** What of this process's environment a command gets to see. All else may be a key. */
const passed = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TZ', 'TMPDIR', 'LANG', 'LANGUAGE'],
  ...['LC_ALL', 'LC_COLLATE', 'LC_CTYPE', 'LC_MESSAGES', 'LC_MONETARY', 'LC_NUMERIC', 'LC_TIME'],
]

/** Nobody is there to answer a prompt, close an editor or leave a pager, and colours are noise. */
const unattended = {
  TERM: 'dumb',
  NO_COLOR: '1',
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  GIT_EDITOR: 'true',
  DEBIAN_FRONTEND: 'noninteractive',
  PYTHONUNBUFFERED: '1',
}

/** Git takes any folder that looks like a bare repository for one, and runs what its settings name: git-config(1), safe.bareRepository. */
const wary = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.bareRepository',
  GIT_CONFIG_VALUE_0: 'explicit',
}

/** The environment of a command: little of our own, then what was asked for. Read anew each time, as it may change. */
export function commandEnvironment({
  passEnv,
  env,
}: {
  passEnv: readonly string[]
  env: Readonly<Record<string, string>>
}): Record<string, string> {
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...ours(passed),
    ...unattended,
    ...wary,
    ...ours(passEnv),
    ...env,
  }
}

function ours(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
