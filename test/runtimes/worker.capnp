using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2025-09-15",
  compatibilityFlags = ["nodejs_compat"],
  durableObjectNamespaces = [(className = "Threads", uniqueKey = "threads")],
  durableObjectStorage = (inMemory = void),
  bindings = [
    (name = "PROVIDER", fromEnvironment = "PROVIDER"),
    (name = "THREADS", durableObjectNamespace = "Threads"),
  ],
);
