(** * The gate as an interactive program

    Threshold noise [rho ~ mu] is drawn once. Then up to [n] questions are answered, one after the
    other, until the gate is closed. The transcript is the list of the answers, oldest first.

    - [step h rho]: the law of the next answer where [h] are all answers so far. The analyst and the
      data set are inside it: the analyst chooses the next question and the threshold from [h], the
      data set answers, fresh noise is drawn, and [rho] is what it is compared with.
    - [closed h]: whether the gate answers no more after [h].
    - [run closed step n h rho]: the law of the transcript, begun with [h]; [gate mu closed step n]
      is that of the whole gate.
    - [complete closed n h t]: from the history [h] with [n] questions left, the answers [t] end the
      run. [along step h t rho] multiplies the laws of the answers of [t], one after the other, and
      [cost w h t] adds their costs.

    The product form ([gate_product]): gate t = [complete] t * sum over rho of mu rho * [along] t rho.

    The alignment ([gate_alignment]): let rho on D be matched with rho + d on D'. If
      mu rho <= e^c1 mu (rho + d)   and   f h rho a <= e^(w h a) g h (rho + d) a,
    then gate f t <= e^(c1 + cost w t) gate g t for every transcript t.

    [gate_sums_to_one]: if [mu] and the steps have mass 1, so has the gate.

    An analyst who tosses coins: the coin of a question becomes a part of its answer ([tossed]),
    known to the analyst and free of cost; [gate_alignment_coins] is the alignment with coins. *)

From Sparsegate Require Import prelude privacy sums.
Local Open Scope ring_scope.

Section Gate.
Context {R : realType} {A : choiceType}.
Implicit Types (mu : {distr int / R}) (closed : seq A -> bool) (h t : seq A) (n : nat) (rho : int).
Implicit Types (step f g : seq A -> int -> {distr A / R}) (w : seq A -> A -> R).

Fixpoint run closed step n h rho : {distr (seq A) / R} :=
  if n is n'.+1 then
    if closed h then dunit h else \dlet_(a <- step h rho) run closed step n' (rcons h a) rho
  else dunit h.

Definition gate mu closed step n := \dlet_(rho <- mu) run closed step n [::] rho.

Fixpoint complete closed n h t :=
  match n, t with
  | _, [::] => (n == 0)%N || closed h
  | 0, _ :: _ => false
  | n'.+1, a :: t' => ~~ closed h && complete closed n' (rcons h a) t'
  end.

Fixpoint along step h t rho : R :=
  if t is a :: t' then step h rho a * along step (rcons h a) t' rho else 1.

Fixpoint cost w h t : R := if t is a :: t' then w h a + cost w (rcons h a) t' else 0.

Lemma along_ge0 step h t rho : 0 <= along step h t rho.
Proof. by elim: t h => [|a t IH] h /=; [exact: ler01 | apply: mulr_ge0]. Qed.

Lemma run_extends closed step n h rho x : run closed step n h rho x != 0 -> prefix h x.
Proof.
have stop h' : dunit h' x != 0 :> R -> prefix h' x.
  by rewrite dunit1E pnatr_eq0 eqb0 negbK => /eqP ->; apply: prefix_refl.
elim: n h => [|n IH] h /=; first exact: stop.
case: (closed h); first exact: stop.
rewrite dletE => /eqP/neq0_psum[a /eqP].
rewrite mulf_eq0 negb_or => /andP[_ /IH]; apply: prefix_trans.
exact: prefix_rcons.
Qed.

Lemma run_product closed step n h rho t :
  run closed step n h rho (h ++ t) = (complete closed n h t)%:R * along step h t rho.
Proof.
have stop k h' t' : (k == 0)%N || closed h' ->
    dunit h' (h' ++ t') = (complete closed k h' t')%:R * along step h' t' rho.
  move=> stopped; rewrite dunit1E -{1}[h']cats0 eqseq_cat // eqxx /=.
  by case: t' k stopped => [|a t'] [|k] //= => [_|->|_|->]; rewrite ?mulr1 ?mul0r.
elim: n h t => [|n IH] h t; first exact: (stop 0%N).
rewrite [LHS]/=; case: (boolP (closed h)) => [closed_h|/negbTE closed_h].
  by rewrite -stop ?closed_h.
rewrite dletE; case: t => [|a t] /=.
- rewrite closed_h mul0r; apply: psum_eq0 => a; apply/eqP; rewrite mulf_eq0.
  apply/orP; right; apply: contraT => /run_extends/size_prefix.
  by rewrite size_rcons cats0 ltnn.
rewrite closed_h /= (psum_point (x := a)).
  by rewrite ger0_norm ?mulr_ge0 // -cat_rcons IH mulrCA.
move=> b b_ne; apply/eqP; rewrite mulf_eq0; apply/orP; right.
apply: contraT => /run_extends; rewrite -cats1 prefix_catr // eqxx /=.
by rewrite (negbTE b_ne).
Qed.

Theorem gate_product mu closed step n t :
  gate mu closed step n t =
  (complete closed n [::] t)%:R * psum (fun rho => mu rho * along step [::] t rho).
Proof.
rewrite /gate dletE -psumZ ?ler0n //; apply: eq_psum => rho.
by rewrite (run_product closed step n [::] rho t) mulrCA.
Qed.

(** Mass 1. *)

Lemma dlet_sums_to_one (T U : choiceType) (mu : {distr T / R}) (nu : T -> {distr U / R}) :
  psum mu = 1 -> (forall x, psum (nu x) = 1) -> psum (\dlet_(x <- mu) nu x) = 1.
Proof.
move=> mu1 nu1; rewrite -mu1.
have inner x : psum (fun y => mu x * nu x y) = mu x by rewrite psumZ // nu1 mulr1.
under eq_psum do rewrite dletE; rewrite -psum_swap; first exact: eq_psum.
- by move=> x; apply: summableZ; apply: summable_mu.
- by apply: eq_summable (summable_mu mu) => x; rewrite inner.
Qed.

Lemma dunit_sums_to_one (T : choiceType) (x : T) : psum (dunit x : {distr T / R}) = 1.
Proof. by rewrite -pr_predT pr_dunit. Qed.

Lemma run_sums_to_one closed step n h rho :
  (forall h rho, psum (step h rho) = 1) -> psum (run closed step n h rho) = 1.
Proof.
move=> step1; elim: n h => [|n IH] h /=; first exact: dunit_sums_to_one.
by case: ifP => _; [exact: dunit_sums_to_one | apply: dlet_sums_to_one].
Qed.

Theorem gate_sums_to_one mu closed step n :
  psum mu = 1 -> (forall h rho, psum (step h rho) = 1) -> psum (gate mu closed step n) = 1.
Proof. by move=> mu1 step1; apply: dlet_sums_to_one => // rho; apply: run_sums_to_one. Qed.

(** The alignment. *)

Lemma along_le f g w (d : int) t h rho :
  (forall h rho a, f h rho a <= expR (w h a) * g h (rho + d) a) ->
  along f h t rho <= expR (cost w h t) * along g h t (rho + d).
Proof.
move=> fg; elim: t h => [|a t IH] h /=; first by rewrite expR0 mulr1.
by rewrite expRD mulrACA; apply: ler_pmul => //; apply: along_ge0.
Qed.

Theorem gate_alignment mu closed f g n (d : int) (c1 : R) w t :
  (forall rho, mu rho <= expR c1 * mu (rho + d)) ->
  (forall h rho a, f h rho a <= expR (w h a) * g h (rho + d) a) ->
  gate mu closed f n t <= expR (c1 + cost w [::] t) * gate mu closed g n t.
Proof.
move=> mu_d fg; rewrite /gate !dletE.
rewrite (reindex_psum (P := predT) (h := fun rho : int => rho - d)) //; last first.
  by exists (fun rho => rho + d) => rho _; rewrite ?addrK ?subrK.
apply: le_psum_scaled (summable_mlet _ _ _); first exact: ltW (expR_gt0 _).
- by move=> rho; apply: mulr_ge0.
move=> rho; rewrite expRD mulrACA; apply: ler_pmul => //.
- by have := mu_d (rho - d); rewrite subrK.
rewrite !(run_product _ _ _ [::] _ t) mulrCA; apply: ler_wpmul2l; first exact: ler0n.
by rewrite -{2}(subrK d rho); apply: along_le.
Qed.

End Gate.

Section Coins.
Context {R : realType} {A C : choiceType}.
Implicit Types (coin : seq (C * A) -> {distr C / R}).
Implicit Types (ask f g : seq (C * A) -> C -> int -> {distr A / R}).

(** The analyst tosses [coin h], looks at it, and asks. *)
Definition tossed coin ask (h : seq (C * A)) (rho : int) : {distr (C * A) / R} :=
  \dlet_(x <- coin h) \dlet_(a <- ask h x rho) dunit (x, a).

Lemma tossedE coin ask h rho x a : tossed coin ask h rho (x, a) = coin h x * ask h x rho a.
Proof.
rewrite dletE (psum_point (x := x)) => [|y y_ne]; last first.
  by rewrite dlet_eq0 ?mulr0 //= => b _; rewrite xpair_eqE negb_and y_ne.
rewrite ger0_norm ?mulr_ge0 //; congr (_ * _).
rewrite dletE (psum_point (x := a)) ?dunit1E ?eqxx ?mulr1 ?ger0_norm //.
by move=> b b_ne; rewrite dunit1E xpair_eqE eqxx (negbTE b_ne) mulr0.
Qed.

Lemma tossed_sums_to_one coin ask h rho :
  psum (coin h) = 1 -> (forall x, psum (ask h x rho) = 1) -> psum (tossed coin ask h rho) = 1.
Proof.
move=> coin1 ask1; apply: dlet_sums_to_one => // x.
by apply: dlet_sums_to_one => // a; apply: dunit_sums_to_one.
Qed.

Theorem gate_alignment_coins (mu : {distr int / R}) closed coin f g n (d : int) c1
  (w : seq (C * A) -> C -> A -> R) t :
  (forall rho, mu rho <= expR c1 * mu (rho + d)) ->
  (forall h x rho a, f h x rho a <= expR (w h x a) * g h x (rho + d) a) ->
  gate mu closed (tossed coin f) n t <=
  expR (c1 + cost (fun h xa => w h xa.1 xa.2) [::] t) * gate mu closed (tossed coin g) n t.
Proof.
move=> mu_d fg; apply: gate_alignment mu_d _ => h rho [x a].
by rewrite !tossedE mulrCA; apply: ler_wpmul2l.
Qed.

End Coins.
