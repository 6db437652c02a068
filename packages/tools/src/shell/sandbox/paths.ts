import { lstatSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, sep } from 'node:path'

/** Whether a path is the folder or inside it. Both are absolute and without links. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}

/**
 * Paths in the home folder that are hidden from commands, so that they cannot print or send them. Caches
 * that builds need stay visible.
 */
const secretPaths = `
  .ssh .gnupg .password-store .local/share/keyrings .vault-token .netrc .authinfo .git-credentials .config/git/credentials
  .config/op .op .config/sops .config/age .config/Bitwarden .config/keepassxc .config/1Password
  .aws .azure .config/gcloud .config/doctl .oci .config/oci .bluemix .aliyun .tccli .linode-cli .config/linode-cli .config/hcloud
  .config/scw .vultr-cli.yaml .config/fly .fly/config.yml .config/heroku .config/netlify .netlify .config/vercel .vercel .local/share/com.vercel.cli
  .config/.wrangler .wrangler/config .railway/config.json .config/supabase .supabase/access-token .config/firebase .config/configstore .config/stripe
  .kube .docker .config/containers .config/helm/registry .terraform.d .terraformrc .pulumi/credentials.json .config/rclone .config/s3cmd .s3cfg .boto
  .config/gh .config/glab-cli .config/hub .config/tea .config/jira .config/acli .config/sentry .sentryclirc
  .npmrc .config/npm/npmrc .yarnrc.yml .config/pnpm/rc .pypirc .config/pip .pip .config/pypoetry .local/share/uv/credentials
  .gem/credentials .local/share/gem/credentials .bundle/config .cargo/credentials .cargo/credentials.toml
  .composer/auth.json .config/composer/auth.json .nuget/NuGet .config/NuGet .m2/settings.xml .m2/settings-security.xml
  .gradle/gradle.properties .ivy2/.credentials .sbt/.credentials .sbt/1.0/credentials.sbt .sbt/credentials
  .hex/hex.config .pub-cache/credentials.json .config/dart/pub-credentials.json .huggingface
  .cache/huggingface/token .kaggle .config/kaggle .config/wandb .modal.toml
  .pgpass .my.cnf .mylogin.cnf .config/pgcli .config/mycli .snowsql .databrickscfg .dbt/profiles.yml
  .codex .claude .claude.json .claude.json.backup .config/claude .gemini .cursor .config/cursor .continue .config/anthropic .config/openai
  .local/share/opencode .config/opencode .config/github-copilot .copilot .codeium .windsurf .aider.conf.yml .config/goose .config/io.datasette.llm
  .config/Code/User/globalStorage .config/Cursor .config/Windsurf
  .mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi
  .config/Slack .config/discord .config/Signal
  .bash_history .zsh_history .local/share/fish/fish_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history
  .Xauthority
`
  .trim()
  .split(/\s+/)

/** Variables that move such files and folders elsewhere. */
const secretVariables = `
  SSH_AUTH_SOCK GNUPGHOME NETRC PGPASSFILE AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_WEB_IDENTITY_TOKEN_FILE AZURE_CONFIG_DIR
  CLOUDSDK_CONFIG GOOGLE_APPLICATION_CREDENTIALS OCI_CLI_CONFIG_FILE DOCKER_CONFIG REGISTRY_AUTH_FILE TF_CLI_CONFIG_FILE
  NPM_CONFIG_USERCONFIG npm_config_userconfig PIP_CONFIG_FILE BUNDLE_USER_CONFIG
  GH_CONFIG_DIR GLAB_CONFIG_DIR SOPS_AGE_KEY_FILE PASSWORD_STORE_DIR CODEX_HOME CLAUDE_CONFIG_DIR HF_TOKEN_PATH
  XAUTHORITY RCLONE_CONFIG KAGGLE_CONFIG_DIR
`
  .trim()
  .split(/\s+/)

interface SecretPath {
  readonly at: string
  readonly kind: 'folder' | 'file'
}

/**
 * Existing files and folders with secrets, including the socket of a key agent that signs for any
 * program.
 */
export function secrets(): SecretPath[] {
  const variables = [
    ...secretVariables.map((name) => process.env[name] ?? ''),
    ...(process.env.KUBECONFIG ?? '').split(delimiter),
  ]
  const paths = [...secretPaths.map((path) => join(homedir(), path)), ...variables.filter(isAbsolute)]
  const found = new Set(paths.map(resolved).filter((path) => path !== undefined))
  return [...found].filter(isHidable).map((at) => ({ at, kind: kindOf(at) === 'folder' ? 'folder' : 'file' }))
}

/** A variable may name `/dev/null`, or a folder that everything needs. */
function isHidable(path: string): boolean {
  return !isWithin(path, '/dev') && !isWithin(homedir(), path) && !['/etc', '/usr', '/var'].includes(path)
}

/**
 * Folders that are empty inside the sandbox, since they contain sockets of docker, dbus, X11, key agents
 * and other services. A read-only mount does not prevent connecting to a socket.
 */
export function socketFolders(): string[] {
  const elsewhere = ['/var/lib/lxd', '/var/lib/incus', '/var/snap/lxd', '/nix/var/nix/daemon-socket']
  const folders = ['/tmp', '/var/tmp', '/run', '/var/run', ...elsewhere, process.env.XDG_RUNTIME_DIR ?? '']
  return folders.filter((path) => isAbsolute(path) && kindOf(path) === 'folder')
}

/**
 * Paths in those folders that are needed anyway: programs (NixOS, fnm), and resolv.conf with
 * network access.
 */
export function neededPaths({ network }: { network: boolean }): string[] {
  const system = ['/run/current-system', '/run/booted-system', '/run/opengl-driver']
  const programs = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute)
  const names = network ? resolved('/etc/resolv.conf') : undefined
  return [...system, ...programs, names ?? ''].filter((path) => isWithin(path, '/run'))
}

/** The path without links; undefined if it does not exist. */
export function resolved(path: string): string | undefined {
  try {
    // Most of these paths do not exist, and lstat is cheaper than an exception.
    return lstatSync(path, { throwIfNoEntry: false }) && realpathSync.native(path)
  } catch {
    return undefined
  }
}

/** Undefined if it does not exist or is not accessible. */
export function kindOf(path: string): 'folder' | 'file' | 'link' | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats?.isSymbolicLink() ? 'link' : stats?.isDirectory() ? 'folder' : stats && 'file'
  } catch {
    return undefined
  }
}
